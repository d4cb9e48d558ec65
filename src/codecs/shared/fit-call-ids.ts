import type { ChatMessage } from "../../core/chat-request.ts";
import { shortDigest } from "../../lib/short-digest.ts";

/** What a vendor wants of the ids of tool calls. */
export interface CallIdRule {
  readonly pattern: RegExp;
  /** Of the letters and digits that take the place of an id which does not match; at most 32. */
  readonly length: number;
}

/**
 * The messages with ids of calls that the vendor takes; clients bring them from other vendors too. The same id is always
 * made into the same one, so that a call and its result keep together and a prompt stays what it was.
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
