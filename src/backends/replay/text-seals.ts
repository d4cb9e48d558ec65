import { createHash } from "node:crypto";
import type { AssistantMessage, ChatMessage, ChatRequest } from "../../core/chat/chat-request.ts";

/**
 * Returns the name of an answer's text: a hash of the text and the whole conversation before it. A seal may contain
 * reasoning about all of it, so no other conversation may find it.
 */
export function nameOfText(messages: readonly ChatMessage[], text: string): string {
  return hash(messages.reduce(hashMessage, ""), text.trim());
}

/** Adds the missing seals of the request's texts. Returns the same object when none is known. */
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

/** Hashes a message without what a client may omit when it sends it again: marks, ids and reasoning. */
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
        // Hashing an image's data would cost more than a seal is worth.
        return [part.type];
    }
  });
  return hash(before, JSON.stringify([message.role, said.filter((part) => part !== "")]));
}

function hash(before: string, text: string): string {
  return createHash("sha256").update(before).update("\0").update(text).digest("base64url");
}
