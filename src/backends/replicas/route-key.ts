import type { ChatMessage, ChatRequest } from "../../core/chat-request.ts";
import { hashText } from "./hash-text.ts";

/** More of a conversation's beginning is not looked at. */
const MOST_PARTS = 16;
const MOST_TOOLS = 64;

type Part = ChatMessage["content"][number];

/**
 * A number that all turns of a conversation have in common, and rarely two conversations: of the system's text, the
 * tools' names and the first thing the user said. Calls of one number share the beginning of their prompts, so that the
 * replica that answered the last one still has it in its cache.
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
