import { isMedium, type Medium } from "../../backends/rules/estimate-input-tokens.ts";
import type {
  AssistantPart,
  ChatRequest,
  ToolDefinition,
  UserPart,
} from "../../core/chat/chat-request.ts";

/** Text that a template adds around the whole prompt, such as the date or a default system message. */
const TOKENS_PER_TEMPLATE = 512;
/** Instructions for calling tools, if there are tools. */
const TOKENS_PER_TOOLBOX = 512;
/** Roles, names and delimiters of each item. */
const TOKENS_PER_MESSAGE = 32;
const TOKENS_PER_CALL = 32;
const TOKENS_PER_TOOL = 64;
/** What Anthropic says to a model about a tool that its definition does not describe. */
const TOKENS_PER_NATIVE_TOOL = 2_048;
/** The most tokens that common vision models use for one picture. */
const TOKENS_PER_IMAGE = 16_384;
/** Base64 characters per token, for sound with the strongest compression that speech allows. */
const SOUND_CHARACTERS_PER_TOKEN = 16;
/** The minimum for a medium of any size. */
const LEAST_MEDIUM_TOKENS = 4_096;
/** The bound for a document that the vendor fetches by its URL, whose length is unknown here. */
const TOKENS_PER_DISTANT_DOCUMENT = 500_000;

export interface InputBound {
  /** Tokens of messages and tools. */
  readonly text: number;
  /** Tokens of the answer's schema and of the client's further fields, which engines may put into the prompt. */
  readonly fields: number;
  /** Tokens of pictures, sound and documents. */
  readonly media: number;
}

/**
 * Returns an upper bound of the tokens that any common model reads in a prompt, including tools. No tokenizer makes
 * more tokens of a text than it has UTF-8 bytes, and the text that templates add has constants of its own. A medium
 * counts as the most tokens that common models use for one. An inline document counts one token for each character of
 * its base64.
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
      // A seal may hold more than the text shows: the vendor reads the complete reasoning.
      return bytes(part.text) + bytes(part.signature) + bytes(part.redacted);
    default:
      return bytes(part.text);
  }
}

function toolTokens({ name, description, parameters, native }: ToolDefinition): number {
  const known = native === undefined ? 0 : TOKENS_PER_NATIVE_TOOL + jsonBytes(native);
  return TOKENS_PER_TOOL + bytes(name) + bytes(description) + jsonBytes(parameters) + known;
}

function bytes(text = ""): number {
  return Buffer.byteLength(text);
}

function jsonBytes(value: object | undefined): number {
  return value === undefined ? 0 : bytes(JSON.stringify(value));
}
