import { type ContextOverflow, describeOverflow } from "../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import { hideAddresses } from "../../lib/hide-addresses.ts";
import { isJsonObject, type JsonObject } from "../../lib/json.ts";
import { readContextOverflow } from "./openai-overflow.ts";

const MAX_MESSAGE_LENGTH = 2000;
/** Vendors wrap a message in objects and arrays at most this deep. */
const MAX_WRAPPINGS = 5;

/** Of errors that come after the status 200. */
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

/** What vendors call their errors, as `code` or as `type`; the first that matches counts. */
const CODES_BY_WORD: readonly (readonly [RegExp, ErrorCode])[] = [
  [/^context_length_exceeded$/, "context_length_exceeded"],
  [/^(rate_limit|insufficient_quota)/, "rate_limit_exceeded"],
  [/^(overloaded|server_is_overloaded|slow_down)/, "overloaded"],
  [/^invalid_(prompt|image|base64|request)|image/, "invalid_value"],
];

/** The engine's own words in an error body; undefined when it says nothing readable. They hold no address and no key. */
export function readErrorMessage(body: string): string | undefined {
  try {
    return messageIn(JSON.parse(body));
  } catch {
    return undefined;
  }
}

/** The error that a chunk or an answer reports instead of being one; undefined when it reports none. */
export function readChunkError(chunk: JsonObject): ServiceError | undefined {
  const { error, object, choices, detail, message } = chunk;
  if (error) return toEngineError(error, chunk);
  const isFlat = choices === undefined && (object === "error" || detail || message);
  return isFlat ? toEngineError(chunk, chunk) : undefined;
}

/** The error for whatever an engine put into an error field. */
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

/** What llama.cpp tells beside its words, whose form changes from one version to the next. */
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

/** `{error:{message}}`, `{error:"…"}`, `[{error}]`, `{message:{detail:[{msg}]}}`, `{detail:"…"}` and plain texts. */
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
