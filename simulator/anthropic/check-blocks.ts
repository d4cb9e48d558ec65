import { type Json, objectOf, objectsOf, stringOf } from "../json.ts";
import { invalid } from "./anthropic-error.ts";

const INPUT_BLOCKS: Readonly<Record<string, readonly string[]>> = {
  user: [
    "document",
    "image",
    "search_result",
    "text",
    "tool_result",
    "container_upload",
    "web_search_tool_result",
  ],
  assistant: [
    "redacted_thinking",
    "server_tool_use",
    "text",
    "thinking",
    "tool_use",
    "web_search_tool_result",
  ],
  system: ["text"],
};
const IMAGE_TYPES = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const ID = /^[a-zA-Z0-9_-]+$/;

/** Throws Anthropic's error for invalid blocks of one message. */
export function checkBlocks(blocks: readonly Json[], role: string, at: string): void {
  blocks.forEach((block, index) => {
    checkBlock(block, role, `${at}.${index}`);
  });
}

function checkBlock(block: Json, role: string, at: string): void {
  const type = stringOf(block["type"]);
  if (type === undefined) throw invalid(`${at}.type: Field required`);
  const known = INPUT_BLOCKS[role] ?? [];
  if (!known.includes(type)) {
    const tags = known.map((name) => `'${name}'`).join(", ");
    throw invalid(
      `${at}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`,
    );
  }
  switch (type) {
    case "text":
      checkText(block, at);
      return;
    case "image":
      checkImage(block, at);
      return;
    case "thinking":
      if (typeof block["signature"] !== "string") {
        throw invalid(`${at}.thinking.signature: Field required`);
      }
      if (typeof block["thinking"] !== "string") {
        throw invalid(`${at}.thinking.thinking: Field required`);
      }
      return;
    case "tool_use":
      checkToolUse(block, at);
      return;
    case "tool_result":
      checkToolResult(block, at);
      return;
    default:
      return;
  }
}

function checkText({ text }: Json, at: string): void {
  if (typeof text !== "string") throw invalid(`${at}.text.text: Field required`);
  if (text === "") throw invalid("messages: text content blocks must be non-empty");
  if (text.trim() === "") {
    throw invalid("messages: text content blocks must contain non-whitespace text");
  }
}

function checkImage({ source }: Json, at: string): void {
  const { data, media_type: mediaType, type, url } = objectOf(source) ?? {};
  if (type === "base64") {
    if (!IMAGE_TYPES.includes(String(mediaType))) {
      throw invalid(
        `${at}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'`,
      );
    }
    if (typeof data !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) {
      throw invalid(`${at}.image.source.base64: invalid base64 data`);
    }
    return;
  }
  if (type === "file") return;
  if (type !== "url") {
    throw invalid(
      `${at}.image.source: Input tag '${String(type)}' found using 'type' does not match any of the expected tags: 'base64', 'file', 'url'`,
    );
  }
  if (!/^https:\/\//.test(String(url))) {
    throw invalid(`${at}.image.source.url: Only HTTPS URLs are supported.`);
  }
}

function checkToolUse({ id, input, name }: Json, at: string): void {
  if (typeof id !== "string" || !ID.test(id)) {
    throw invalid(`${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
  }
  if (typeof name !== "string" || !/^[a-zA-Z0-9_-]{1,200}$/.test(name)) {
    throw invalid(`${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`);
  }
  if (!objectOf(input)) throw invalid(`${at}.tool_use.input: Input should be a valid dictionary`);
}

function checkToolResult(block: Json, at: string): void {
  const id = block["tool_use_id"];
  if (typeof id !== "string") throw invalid(`${at}.tool_result.tool_use_id: Field required`);
  const { content } = block;
  if (content === undefined || typeof content === "string") return;
  if (!Array.isArray(content)) {
    throw invalid(`${at}.tool_result.content: Input should be a valid string or list`);
  }
  objectsOf(content).forEach((part, index) => {
    const path = `${at}.tool_result.content.${index}`;
    const type = String(part["type"]);
    if (!["text", "image", "document", "search_result", "tool_reference"].includes(type)) {
      throw invalid(
        `${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: 'document', 'image', 'search_result', 'text', 'tool_reference'`,
      );
    }
    if (type === "text") checkText(part, path);
    if (type === "image") checkImage(part, path);
  });
}
