import type { Tool, TurnMessage } from "../content/turn.ts";
import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { badRequest } from "./bad-request.ts";

/** Reads messages of the chat-completions format. Throws vLLM's 400. */
export function readMessages(value: unknown): TurnMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw badRequest("messages must be a list that is not empty", "messages");
  }
  return value.map((item) => {
    const message = objectOf(item);
    const role = stringOf(message?.["role"]);
    if (!message || !role) throw badRequest("each message needs a role", "messages");
    return { role, ...readContent(message["content"]), extra: readExtra(message) };
  });
}

function readContent(content: unknown): { text: string; images: number } {
  if (typeof content === "string") return { text: content, images: 0 };
  if (content === null || content === undefined) return { text: "", images: 0 };
  if (!Array.isArray(content)) throw badRequest("content must be text or a list", "messages");
  const parts = objectsOf(content);
  const unknown = parts.find((part) => !knownParts.has(String(part["type"])));
  if (unknown) throw badRequest(`Unknown part type: ${String(unknown["type"])}`, "messages");
  const texts = parts.flatMap((part) => stringOf(part["text"]) ?? stringOf(part["refusal"]) ?? []);
  const images = parts.filter((part) => part["type"] === "image_url");
  const hasAddresses = images.every((part) => stringOf(objectOf(part["image_url"])?.["url"]));
  if (!hasAddresses) throw badRequest("image_url.url is missing", "messages");
  return { text: texts.join("\n"), images: images.length };
}

const knownParts: ReadonlySet<string> = new Set([
  "text",
  "image_url",
  "input_audio",
  "refusal",
  "thinking",
]);

function readExtra(message: Json): string {
  const calls = objectsOf(message["tool_calls"]).map((call) => {
    const { name, arguments: text } = objectOf(call["function"]) ?? {};
    if (typeof text !== "string")
      throw badRequest("tool call arguments must be a string", "messages");
    return `<|call|>${String(name)}${text}`;
  });
  const thought = stringOf(message["reasoning"]) ?? stringOf(message["reasoning_content"]) ?? "";
  return `${thought}${calls.join("")}`;
}

/** Reads function tools of the chat-completions format. */
export function readTools(value: unknown): Tool[] {
  return objectsOf(value).map((item) => {
    const definition = objectOf(item["function"]);
    const name = stringOf(definition?.["name"]);
    if (item["type"] !== "function" || !name)
      throw badRequest("a tool must be a function", "tools");
    return {
      name,
      description: stringOf(definition?.["description"]) ?? "",
      parameters: objectOf(definition?.["parameters"]) ?? {},
    };
  });
}
