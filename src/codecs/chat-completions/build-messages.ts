import type {
  AssistantMessage,
  ChatMessage,
  DocumentPart,
  MediaSource,
  RefusalPart,
  TextPart,
  ToolCallPart,
  UserPart,
} from "../../core/chat-request.ts";
import type { JsonObject, JsonValue } from "../../lib/json.ts";

/** The messages as the engine reads them, in their order. */
export function buildMessages(messages: readonly ChatMessage[]): JsonObject[] {
  return messages.map(buildMessage);
}

function buildMessage(message: ChatMessage): JsonObject {
  switch (message.role) {
    case "system":
    case "user":
      return {
        role: message.role,
        content: buildContent(message.content),
        name: message.name,
      };
    case "assistant":
      return buildAssistant(message);
    case "tool":
      return {
        role: "tool",
        tool_call_id: message.callId,
        content: buildContent(message.content),
      };
  }
}

function buildAssistant({ content, name }: AssistantMessage): JsonObject {
  const said: (TextPart | RefusalPart)[] = [];
  const calls: ToolCallPart[] = [];
  let thought = "";
  for (const part of content) {
    if (part.type === "tool-call") calls.push(part);
    else if (part.type === "reasoning") thought += part.text;
    else said.push(part);
  }
  return {
    role: "assistant",
    // What the model refused to say is, to most engines, what it said.
    content: calls.length > 0 && said.length === 0 ? null : buildContent(said.map(toText)),
    name,
    reasoning_content: thought === "" ? undefined : thought,
    tool_calls: calls.length === 0 ? undefined : calls.map(buildCall),
  };
}

function toText({ text }: TextPart | RefusalPart): TextPart {
  return { type: "text", text };
}

function buildCall(call: ToolCallPart): JsonObject {
  return {
    id: call.callId,
    type: "function",
    // Engines parse it, and an empty text is no JSON.
    function: { name: call.name, arguments: call.arguments === "" ? "{}" : call.arguments },
  };
}

/** A lone text as a plain string, which every chat template understands. */
function buildContent(parts: readonly UserPart[]): JsonValue {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map(buildPart);
}

function buildPart(part: UserPart): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "image":
      return { type: "image_url", image_url: { url: mediaUrl(part.source), detail: part.detail } };
    case "audio":
      return { type: "input_audio", input_audio: { data: part.data, format: part.format } };
    case "document":
      return buildDocument(part);
  }
}

function buildDocument({ source, title }: DocumentPart): JsonObject {
  return { type: "file", file: { filename: title ?? "document.pdf", file_data: mediaUrl(source) } };
}

function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}
