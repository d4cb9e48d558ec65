import { createHash } from "node:crypto";
import type { ChatMessage } from "../../core/chat-request.ts";

const LENGTH = 9;
const SHORT_ID = /^[A-Za-z0-9]{9}$/;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/**
 * The messages with ids of calls that consist of nine letters and digits. An id that does already stays; any other is
 * always made into the same one, so that a call and its result keep together and a prompt stays what it was.
 */
export function withShortCallIds(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  return messages.map((message) => {
    if (message.role === "tool") return { ...message, callId: shortId(message.callId) };
    if (message.role !== "assistant") return message;
    const content = message.content.map((part) =>
      part.type === "tool-call" ? { ...part, callId: shortId(part.callId) } : part,
    );
    return { ...message, content };
  });
}

function shortId(id: string): string {
  if (SHORT_ID.test(id)) return id;
  const bytes = createHash("sha256").update(id).digest().subarray(0, LENGTH);
  return Array.from(bytes, (byte) => DIGITS[byte % DIGITS.length]).join("");
}
