import type {
  AssistantPart,
  AudioPart,
  ChatRequest,
  DocumentPart,
  ImagePart,
  ToolDefinition,
  UserPart,
} from "../../core/chat-request.ts";

/** What a template writes around the whole prompt: the day, a default system message. */
const TOKENS_PER_TEMPLATE = 512;
/** How to call tools, where there are some. */
const TOKENS_PER_TOOLBOX = 512;
/** Roles, names and marks around each of them. */
const TOKENS_PER_MESSAGE = 32;
const TOKENS_PER_CALL = 32;
const TOKENS_PER_TOOL = 64;
/** The most that the usual vision models make of one picture. */
const TOKENS_PER_IMAGE = 16_384;
/** Of sound that is pressed as far as speech can be: a token for so many characters of base64. */
const SOUND_CHARACTERS_PER_TOKEN = 16;
/** Any medium, however small. */
const LEAST_MEDIUM_TOKENS = 4_096;
/** A document that the vendor fetches by its address: nobody here knows its length. */
const TOKENS_PER_DISTANT_DOCUMENT = 500_000;

export interface InputBound {
  /** Of messages and tools. */
  readonly text: number;
  /** Of a schema for the answer and of the client's further fields: engines may put them into the prompt. */
  readonly fields: number;
  /** Of pictures, sound and documents. */
  readonly media: number;
}

/**
 * More tokens than any usual model reads in a prompt, tools included, and no more than need be: no tokenizer makes more
 * tokens of a text than it has UTF-8 bytes, and what templates add has a constant of its own. A medium has the most that
 * the usual models make of one; a document in its own bytes a token for each character of its base64.
 */
export function boundInputTokens(request: ChatRequest): InputBound {
  const { responseFormat, extra } = request.parameters;
  let text = TOKENS_PER_TEMPLATE + (request.tools.length > 0 ? TOKENS_PER_TOOLBOX : 0);
  let media = 0;
  for (const message of request.messages) {
    text += TOKENS_PER_MESSAGE;
    if ("name" in message) text += bytes(message.name);
    for (const part of message.content) {
      if (isMedium(part)) media += mediumTokens(part);
      else text += textTokens(part);
    }
  }
  for (const tool of request.tools) text += toolTokens(tool);
  return { text, media: Math.ceil(media), fields: jsonBytes(responseFormat) + jsonBytes(extra) };
}

type Medium = ImagePart | AudioPart | DocumentPart;

function isMedium(part: UserPart | AssistantPart): part is Medium {
  return part.type === "image" || part.type === "audio" || part.type === "document";
}

function mediumTokens(part: Medium): number {
  switch (part.type) {
    case "image":
      return TOKENS_PER_IMAGE;
    case "audio":
      return Math.max(LEAST_MEDIUM_TOKENS, part.data.length / SOUND_CHARACTERS_PER_TOKEN);
    case "document":
      return part.source.kind === "url"
        ? TOKENS_PER_DISTANT_DOCUMENT
        : Math.max(LEAST_MEDIUM_TOKENS, part.source.data.length);
  }
}

function textTokens(part: Exclude<UserPart | AssistantPart, Medium>): number {
  switch (part.type) {
    case "tool-call":
      return TOKENS_PER_CALL + bytes(part.name) + bytes(part.arguments) + bytes(part.signature);
    case "reasoning":
      // A seal may hold more than the text tells: the vendor reads all that was thought.
      return bytes(part.text) + bytes(part.signature) + bytes(part.redacted);
    default:
      return bytes(part.text);
  }
}

function toolTokens({ name, description, parameters }: ToolDefinition): number {
  return TOKENS_PER_TOOL + bytes(name) + bytes(description) + jsonBytes(parameters);
}

function bytes(text = ""): number {
  return Buffer.byteLength(text);
}

function jsonBytes(value: object | undefined): number {
  return value === undefined ? 0 : bytes(JSON.stringify(value));
}
