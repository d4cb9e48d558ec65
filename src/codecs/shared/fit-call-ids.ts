import type { ChatMessage } from "../../core/chat/chat-request.ts";
import { shortDigest } from "../../lib/id.ts";

/** A vendor's requirements for the ids of tool calls. */
export interface CallIdRule {
  readonly pattern: RegExp;
  /** The number of letters and digits in the replacement of an id that does not match; at most 32. */
  readonly length: number;
}

/**
 * Returns the messages with call ids that the vendor accepts; clients also send ids of other vendors. The mapping is
 * deterministic, so that a call keeps its result and a repeated prompt stays the same.
 */
export function fitCallIds(
  messages: readonly ChatMessage[],
  rule: CallIdRule,
): readonly ChatMessage[] {
  return messages.map((message) => {
    if (message.role === "tool") return { ...message, callId: fitted(message.callId, rule) };
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) =>
      part.type === "tool-call" ? { ...part, callId: fitted(part.callId, rule) } : part,
    );
    return { ...message, content };
  });
}

function fitted(id: string, { pattern, length }: CallIdRule): string {
  return pattern.test(id) ? id : shortDigest(id, length);
}
