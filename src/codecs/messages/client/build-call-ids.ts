import type { ToolCallPart } from "../../../core/chat-request.ts";
import type { Turn } from "../../shared/alternate-turns.ts";

/** The ids under which the vendor is told of the calls: of letters it takes, and no two alike in a conversation. */
export function buildCallIds(turns: readonly Turn[]): ReadonlyMap<ToolCallPart, string> {
  const ids = new Map<ToolCallPart, string>();
  const taken = new Set<string>();
  for (const part of turns.flatMap((turn) => (turn.role === "assistant" ? turn.content : []))) {
    if (part.type !== "tool-call") continue;
    const fitted = part.callId.replace(/[^a-zA-Z0-9_-]/g, "_") || "call";
    // An id that is taken is numbered by the calls before it, so that few tries are needed.
    let id = fitted;
    for (let number = taken.size; taken.has(id); number++) id = `${fitted}_${number}`;
    taken.add(id);
    ids.set(part, id);
  }
  return ids;
}
