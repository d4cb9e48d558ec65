import type {
  AssistantMessage,
  ChatMessage,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  UserPart,
} from "../../core/chat/chat-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";

/** The maximum depth of JSON that the gateway reads, here for the JSON in the string of a call's arguments. */
const MAX_ARGUMENTS_DEPTH = 128;

const encoder = new TextEncoder();

/**
 * Returns the JSON texts of the messages. Arguments of tool calls stay the same byte for byte. Throws on audio,
 * documents and image URLs.
 */
export function buildMessages(messages: readonly ChatMessage[]): string[] {
  const toolNames = new Map<string, string>();
  return messages.map((message, index) => messageText(message, `messages[${index}]`, toolNames));
}

/** Builds one message. `toolNames` collects the calls, so that a later result can name its tool. */
function messageText(message: ChatMessage, path: string, toolNames: Map<string, string>): string {
  switch (message.role) {
    case "system":
      return JSON.stringify({ role: "system", content: joinTexts(message.content) });
    case "user":
      return JSON.stringify({ role: "user", ...readParts(message.content, path) });
    case "assistant":
      return assistantText(message, path, toolNames);
    case "tool":
      return JSON.stringify(toolMessage(message, path, toolNames));
  }
}

function toolMessage(
  message: ToolMessage,
  path: string,
  toolNames: ReadonlyMap<string, string>,
): JsonObject {
  return {
    role: "tool",
    tool_name: toolNames.get(message.callId),
    tool_call_id: message.callId,
    ...readParts(message.content, path),
  };
}

function assistantText(
  message: AssistantMessage,
  path: string,
  toolNames: Map<string, string>,
): string {
  const texts: string[] = [];
  const calls: string[] = [];
  let thinking = "";
  for (const part of message.content) {
    switch (part.type) {
      case "text":
      case "refusal":
        texts.push(part.text);
        break;
      case "reasoning":
        thinking += part.text;
        break;
      case "tool-call":
        toolNames.set(part.callId, part.name);
        calls.push(toolCallText(part, `${path}.tool_calls[${calls.length}].function.arguments`));
        break;
    }
  }
  const members = JSON.stringify({
    role: "assistant",
    content: texts.join("\n"),
    thinking: thinking === "" ? undefined : thinking,
  });
  return calls.length === 0
    ? members
    : `${members.slice(0, -1)},"tool_calls":[${calls.join(",")}]}`;
}

function toolCallText(part: ToolCallPart, path: string): string {
  const id = JSON.stringify(part.callId);
  const name = JSON.stringify(part.name);
  return `{"id":${id},"function":{"name":${name},"arguments":${argumentsText(part.arguments, path)}}}`;
}

/**
 * Returns the arguments as the text of an object, which the engine requires. A model may have written something else in
 * an earlier turn; it is wrapped, so that the conversation can continue.
 */
function argumentsText(text: string, path: string): string {
  if (text.trim() === "") return "{}";
  if (isDeeperThan(MAX_ARGUMENTS_DEPTH, encoder.encode(text))) {
    throw new ServiceError(
      "invalid_json",
      `The tool call arguments in ${path} nest deeper than ${MAX_ARGUMENTS_DEPTH} levels.`,
      { param: path },
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return "{}";
    return isJsonObject(value) ? text : `{"value":${text}}`;
  } catch {
    return JSON.stringify({ value: text });
  }
}

function readParts(
  parts: readonly UserPart[],
  path: string,
): { content: string; images?: readonly string[] } {
  const texts: TextPart[] = [];
  const images: string[] = [];
  for (const [index, part] of parts.entries()) {
    const partPath = `${path}.content[${index}]`;
    switch (part.type) {
      case "text":
        texts.push(part);
        break;
      case "image":
        images.push(imageData(part, partPath));
        break;
      case "audio":
      case "document":
        throw new ServiceError(
          "invalid_value",
          `This model does not accept ${part.type} parts in messages: ${partPath}.`,
          { param: partPath },
        );
    }
  }
  const content = joinTexts(texts);
  return images.length === 0 ? { content } : { content, images };
}

function imageData(part: ImagePart, path: string): string {
  if (part.source.kind === "base64") return part.source.data;
  throw new ServiceError(
    "invalid_value",
    `The engine cannot fetch the image of ${path}: send the image itself, as a base64 data URL.`,
    { param: path },
  );
}

function joinTexts(parts: readonly TextPart[]): string {
  return parts.map((part) => part.text).join("\n");
}
