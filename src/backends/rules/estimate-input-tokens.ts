import type {
  AssistantPart,
  AudioPart,
  ChatRequest,
  DocumentPart,
  ImagePart,
  ToolDefinition,
  UserPart,
} from "../../core/chat/chat-request.ts";

/** In nearly every language and tokenizer a token averages at least this many UTF-8 bytes. */
const BYTES_PER_TOKEN = 3;
const TOKENS_PER_MESSAGE = 6;
const TOKENS_PER_TOOL = 12;
/** About a large image in common vision models, a minute of audio, or a page of a document. */
const TOKENS_PER_MEDIUM = 2_000;

/** Estimates the tokens of a prompt, tools included, preferably too high. Costs no more than measuring its texts. */
export function estimateInputTokens(request: ChatRequest): number {
  let bytes = 0;
  let tokens = 0;
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE;
    for (const part of message.content) {
      if (isMedium(part)) tokens += TOKENS_PER_MEDIUM;
      else bytes += textBytes(part);
    }
  }
  for (const tool of request.tools) {
    tokens += TOKENS_PER_TOOL;
    bytes += toolBytes(tool);
  }
  return tokens + Math.ceil(bytes / BYTES_PER_TOKEN);
}

export type Medium = ImagePart | AudioPart | DocumentPart;

export function isMedium(part: UserPart | AssistantPart): part is Medium {
  return part.type === "image" || part.type === "audio" || part.type === "document";
}

function textBytes(part: Exclude<UserPart | AssistantPart, Medium>): number {
  if (part.type !== "tool-call") return Buffer.byteLength(part.text);
  return part.name.length + Buffer.byteLength(part.arguments);
}

function toolBytes({ name, description = "", parameters = {} }: ToolDefinition): number {
  return (
    name.length + Buffer.byteLength(description) + Buffer.byteLength(JSON.stringify(parameters))
  );
}
