import type { ChatMessage, ChatRequest } from "../../core/chat/chat-request.ts";
import { hashText } from "./hash-text.ts";

/** The most parts of a message that are hashed. */
const MOST_PARTS = 16;
const MOST_TOOLS = 64;

type Part = ChatMessage["content"][number];

/**
 * Returns a number that all turns of a conversation share, and two conversations rarely do. It hashes the system text,
 * the tools' names and the user's first message. Calls with the same key share the beginning of their prompts, so the
 * replica that served the last one still has it cached.
 */
export function routeKey({ messages, tools }: ChatRequest): number {
  let key = 0;
  for (const { role, content } of messages) {
    if (role === "assistant" || role === "tool") continue;
    for (const part of content.slice(0, MOST_PARTS)) key = hashPart(part, key);
    if (role === "user") break;
  }
  for (const { name } of tools.slice(0, MOST_TOOLS)) key = hashText(name, key);
  return key;
}

function hashPart(part: Part, key: number): number {
  switch (part.type) {
    case "text":
      return hashText(part.text, key);
    case "image":
    case "document":
      return hashText(part.source.kind === "url" ? part.source.url : part.source.data, key);
    case "audio":
      return hashText(part.data, key);
    default:
      return key;
  }
}
