import type {
  AssistantPart,
  AudioPart,
  ChatRequest,
  DocumentPart,
  ImagePart,
  ToolDefinition,
  UserPart,
} from "../../core/chat-request.ts";

/** Text of nearly every language and tokenizer takes fewer tokens than its UTF-8 bytes by this number. */
const BYTES_PER_TOKEN = 3;
const TOKENS_PER_MESSAGE = 6;
const TOKENS_PER_TOOL = 12;
/** A large picture in the usual vision models; sound of about a minute; a page of a document. */
const TOKENS_PER_MEDIUM = 2_000;

/** Tokens of a prompt, tools included, rather too many than too few. Costs no more than the lengths of its texts. */
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

type Medium = ImagePart | AudioPart | DocumentPart;

function isMedium(part: UserPart | AssistantPart): part is Medium {
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
