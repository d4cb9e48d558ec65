import type {
  AssistantMessage,
  AssistantPart,
  ChatMessage,
  DocumentPart,
  MediaSource,
  ReasoningPart,
  RefusalPart,
  TextPart,
  UserPart,
} from "../../../core/chat/chat-request.ts";
import { ServiceError } from "../../../core/service-error.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { fitCallIds } from "../../shared/fit-call-ids.ts";
import { openReasoning } from "./openai-seal.ts";

const CALL_IDS = { pattern: /^.{1,64}$/s, length: 32 };

/** Builds the conversation as input items, in order. */
export function buildInput(messages: readonly ChatMessage[]): JsonObject[] {
  return fitCallIds(messages, CALL_IDS).flatMap(buildItems);
}

function buildItems(message: ChatMessage): JsonObject[] {
  switch (message.role) {
    case "system":
      return [{ role: "developer", content: buildContent(message.content) }];
    case "user":
      return [{ role: "user", content: buildContent(message.content) }];
    case "assistant":
      return buildTurn(message);
    case "tool": {
      const output = buildContent(message.content);
      return [{ type: "function_call_output", call_id: message.callId, output }];
    }
  }
}

/**
 * Builds the reasoning, text and calls of a turn, in order. Reasoning that nothing follows is dropped, because the
 * vendor refuses it.
 */
function buildTurn({ content }: AssistantMessage): JsonObject[] {
  const items: JsonObject[] = [];
  let thoughts: JsonObject[] = [];
  let said: JsonObject[] | undefined;
  const add = (item: JsonObject) => {
    items.push(...thoughts, item);
    thoughts = [];
  };
  for (const part of content) {
    if (part.type === "text" || part.type === "refusal") {
      if (said === undefined) {
        said = [];
        add({ type: "message", role: "assistant", content: said });
      }
      said.push(buildSaid(part));
      continue;
    }
    said = undefined;
    if (part.type === "reasoning") thoughts.push(...buildThought(part));
    else add(buildCall(part));
  }
  return items;
}

function buildSaid(part: TextPart | RefusalPart): JsonObject {
  return part.type === "text"
    ? { type: "output_text", text: part.text }
    : { type: "refusal", refusal: part.text };
}

/**
 * Builds a reasoning item. The vendor refuses reasoning that is not sealed or that another vendor sealed, so that is
 * dropped.
 */
function buildThought({ text, signature, redacted }: ReasoningPart): JsonObject[] {
  const sealed = openReasoning(signature) ?? openReasoning(redacted);
  if (sealed === undefined) return [];
  return [
    {
      type: "reasoning",
      id: sealed.id,
      summary: text === "" ? [] : [{ type: "summary_text", text }],
      encrypted_content: sealed.encryptedContent,
    },
  ];
}

function buildCall(call: Extract<AssistantPart, { type: "tool-call" }>): JsonObject {
  return {
    type: "function_call",
    call_id: call.callId,
    name: call.name,
    // An empty string is not valid JSON.
    arguments: call.arguments === "" ? "{}" : call.arguments,
  };
}

/** Builds the content of a message or of a tool result; a single text becomes a plain string. Throws on audio. */
function buildContent(parts: readonly UserPart[]): JsonValue {
  const [first] = parts;
  if (first === undefined) return "";
  if (parts.length === 1 && first.type === "text") return first.text;
  return parts.map(buildPart);
}

function buildPart(part: UserPart): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "input_text", text: part.text };
    case "image":
      return { type: "input_image", image_url: mediaUrl(part.source), detail: part.detail };
    case "document":
      return buildDocument(part);
    case "audio":
      throw new ServiceError(
        "unsupported_parameter",
        `'${part.at ?? "messages"}' is audio, which this model does not accept.`,
        { param: part.at },
      );
  }
}

function buildDocument({ source, title }: DocumentPart): JsonObject {
  if (source.kind === "url") return { type: "input_file", file_url: source.url };
  return { type: "input_file", filename: title ?? "document.pdf", file_data: mediaUrl(source) };
}

function mediaUrl(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}
