import type { MessagePart } from "./chat-document.ts";
import type { AnswerEvent } from "./read-stream.ts";

/**
 * Adds what came to the parts of an answer. Text goes on in the last part of its kind unless another kind stands between;
 * a tool run is one part, from its begin to its end.
 */
export function addEvent(
  parts: readonly MessagePart[],
  event: AnswerEvent,
): readonly MessagePart[] {
  if (event.type === "text" || event.type === "thinking") {
    const last = parts.at(-1);
    if (last?.type !== event.type) return [...parts, { type: event.type, text: event.text }];
    return [...parts.slice(0, -1), { ...last, text: last.text + event.text }];
  }
  if (event.type === "tool_run") {
    const known = parts.findIndex((part) => part.type === "tool_run" && part.id === event.run.id);
    if (known < 0) return [...parts, event.run];
    return parts.with(known, { ...parts[known], ...event.run });
  }
  if (event.type === "sources") {
    return [
      ...parts.filter(({ type }) => type !== "sources"),
      { type: "sources", sources: event.sources },
    ];
  }
  return parts;
}

/** Ends what was still running when an answer ended early. */
export function settleParts(parts: readonly MessagePart[]): readonly MessagePart[] {
  return parts.map((part) =>
    part.type === "tool_run" && part.status === "running" ? { ...part, status: "error" } : part,
  );
}
