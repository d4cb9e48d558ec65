import { createHash } from "node:crypto";
import type { AssistantMessage, ChatMessage, ChatRequest } from "../../core/chat-request.ts";

/**
 * The name of an answer's text: a hash of the whole conversation up to it, and of the text. A seal may hold what was
 * thought of all that came before, so no other conversation is to find it.
 */
export function nameOfText(messages: readonly ChatMessage[], text: string): string {
  return hash(messages.reduce(hashMessage, ""), text.trim());
}

/** The request with the seals that its texts lack; the very same one when none is known. */
export function restoreTextSeals(
  request: ChatRequest,
  find: (name: string) => string | undefined,
): ChatRequest {
  let isChanged = false;
  let before = "";
  const messages = request.messages.map((message): ChatMessage => {
    const text = message.role === "assistant" ? textOf(message) : "";
    const signature = text === "" ? undefined : find(hash(before, text));
    before = hashMessage(before, message);
    if (message.role !== "assistant" || signature === undefined) return message;
    isChanged = true;
    return sealText(message, signature);
  });
  return isChanged ? { ...request, messages } : request;
}

function sealText(message: AssistantMessage, signature: string): AssistantMessage {
  const last = message.content.findLast(({ type }) => type === "text");
  return {
    ...message,
    content: message.content.map((part) =>
      part === last && part.type === "text" ? { ...part, signature } : part,
    ),
  };
}

function textOf({ content }: ChatMessage): string {
  return content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("")
    .trim();
}

/** Without what a client may leave out when it sends the message again: marks, ids and thoughts. */
function hashMessage(before: string, message: ChatMessage): string {
  const said = message.content.map((part) => {
    switch (part.type) {
      case "text":
      case "refusal":
        return part.text;
      case "tool-call":
        return [part.name, part.arguments];
      case "reasoning":
        return "";
      default:
        // A picture's data would cost more to hash than a seal is worth.
        return [part.type];
    }
  });
  return hash(before, JSON.stringify([message.role, said.filter((part) => part !== "")]));
}

function hash(before: string, text: string): string {
  return createHash("sha256").update(before).update("\0").update(text).digest("base64url");
}
