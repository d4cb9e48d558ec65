import { type ContextOverflow, describeOverflow } from "../../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { hideAddresses } from "../../../lib/text/hide-addresses.ts";
import { readContextOverflow } from "./openai-overflow.ts";

const MAX_MESSAGE_LENGTH = 2000;
/** The maximum depth of the objects and arrays in which vendors wrap a message. */
const MAX_WRAPPINGS = 5;

/** The codes of errors that arrive after the status 200. */
const CODES_BY_STATUS: ReadonlyMap<number, ErrorCode> = new Map([
  [400, "invalid_value"],
  [408, "upstream_timeout"],
  [413, "request_too_large"],
  [422, "invalid_value"],
  [429, "rate_limit_exceeded"],
  [503, "overloaded"],
  [504, "upstream_timeout"],
  [529, "overloaded"],
]);

/** The words vendors use for their errors, as `code` or as `type`; the first match decides. */
const CODES_BY_WORD: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^context_length_exceeded$/, "context_length_exceeded"],
  [/^(rate_limit|insufficient_quota)/, "rate_limit_exceeded"],
  [/^(overloaded|server_is_overloaded|slow_down)/, "overloaded"],
  [/^invalid_(prompt|image|base64|request)|image/, "invalid_value"],
];

/**
 * Returns the engine's message from an error body, without addresses and keys; undefined when there is no readable one.
 */
export function readErrorMessage(body: string): string | undefined {
  try {
    return messageIn(JSON.parse(body));
  } catch {
    return undefined;
  }
}

/** Returns the error that a chunk or an answer reports in place of content; undefined when it reports none. */
export function readChunkError(chunk: JsonObject): ServiceError | undefined {
  const { error, object, choices, detail, message } = chunk;
  if (error) return toEngineError(error, chunk);
  const isFlat = choices === undefined && (object === "error" || detail || message);
  return isFlat ? toEngineError(chunk, chunk) : undefined;
}

/** Builds the error for any value of an engine's error field. */
export function toEngineError(error: unknown, around: JsonObject = {}): ServiceError {
  const message = messageIn(error) ?? "The engine reported an error.";
  const overflow = readOverflowFields(error) ?? readContextOverflow(message);
  if (overflow !== undefined) {
    return new ServiceError("context_length_exceeded", describeOverflow(overflow), { overflow });
  }
  const status = statusIn(error) ?? statusIn(around);
  const code = status === undefined ? codeByWord(error) : CODES_BY_STATUS.get(status);
  return new ServiceError(code ?? "upstream_error", message);
}

/** Reads the numbers that llama.cpp sends in addition to its message, whose form changes between versions. */
export function readOverflowFields(error: unknown): ContextOverflow | undefined {
  if (!isJsonObject(error) || error["type"] !== "exceed_context_size_error") return undefined;
  const { n_prompt_tokens, n_ctx } = error;
  const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0;
  return {
    promptTokens: isCount(n_prompt_tokens) ? Number(n_prompt_tokens) : undefined,
    contextLength: isCount(n_ctx) ? Number(n_ctx) : undefined,
  };
}

function codeByWord(error: unknown): ErrorCode | undefined {
  if (!isJsonObject(error)) return undefined;
  for (const word of [error["code"], error["type"]]) {
    const found = CODES_BY_WORD.find(([words]) => typeof word === "string" && words.test(word));
    if (found !== undefined) return found[1];
  }
  return undefined;
}

function statusIn(error: unknown): number | undefined {
  if (!isJsonObject(error)) return undefined;
  const { code, status } = error;
  return [code, status].map(Number).find((number) => number >= 400);
}

/**
 * Finds the message in `{error:{message}}`, `{error:"…"}`, `[{error}]`, `{message:{detail:[{msg}]}}`, `{detail:"…"}`
 * and plain texts.
 */
function messageIn(value: unknown, depth = 0): string | undefined {
  if (typeof value === "string") {
    return value.trim() === "" ? undefined : hideAddresses(value, MAX_MESSAGE_LENGTH);
  }
  if (depth >= MAX_WRAPPINGS) return undefined;
  if (Array.isArray(value)) return firstMessage(value, depth);
  if (!isJsonObject(value)) return undefined;
  const { error, message, detail, msg, errors } = value;
  return firstMessage([error, message, detail, msg, errors], depth);
}

function firstMessage(values: readonly unknown[], depth: number): string | undefined {
  for (const value of values) {
    const message = messageIn(value, depth + 1);
    if (message !== undefined) return message;
  }
  return undefined;
}
