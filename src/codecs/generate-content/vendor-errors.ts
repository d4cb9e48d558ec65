import { type ContextOverflow, describeOverflow } from "../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { readVendorError, vendorMessage } from "../shared/errors/vendor-message.ts";

const SECONDS = /^(\d+(?:\.\d+)?)s$/;

/**
 * Returns the delay in whole seconds that an error body requests, which replaces a header; undefined when it requests
 * none.
 */
export function readRetryDelay(body: string): number | undefined {
  const { details } = readVendorError(body) ?? {};
  if (!Array.isArray(details)) return undefined;
  for (const detail of details) {
    const { retryDelay } = isJsonObject(detail) ? detail : {};
    const seconds = typeof retryDelay === "string" ? SECONDS.exec(retryDelay)?.[1] : undefined;
    if (seconds !== undefined) return Math.max(1, Math.ceil(Number(seconds)));
  }
  return undefined;
}

const OVERFLOW =
  /input token count (?:(?:is )?\(?(\d+)\)? )?(?:exceeds the maximum number of tokens allowed|but model only supports up to) \(?(\d+)\)?/i;

/** Reads the vendor's message that a prompt is too long; returns undefined for any other message. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  const match = OVERFLOW.exec(message);
  if (match === null) return undefined;
  const [, prompt, length] = match;
  // Newer messages contain only the limit.
  return {
    promptTokens: prompt === undefined ? undefined : Number(prompt),
    contextLength: Number(length),
  };
}

interface ErrorKind {
  readonly code: ErrorCode;
  /** Replaces the vendor's message where that is not meant for a client. */
  readonly text?: string;
}

const KEY_REFUSED = "The model server refused the gateway's key.";

const KINDS: ReadonlyMap<unknown, ErrorKind> = new Map<number, ErrorKind>([
  [400, { code: "invalid_value" }],
  [401, { code: "upstream_error", text: KEY_REFUSED }],
  [403, { code: "upstream_error", text: KEY_REFUSED }],
  [
    404,
    {
      code: "upstream_error",
      text: "The model server does not have the model or the interface asked for.",
    },
  ],
  [429, { code: "rate_limit_exceeded" }],
  [503, { code: "overloaded" }],
  [504, { code: "upstream_timeout" }],
]);

/** Builds the error for an object `{code, message, status}` that comes in place of an answer. */
export function toVendorError(error: JsonObject): ServiceError {
  const { code: status } = error;
  const words = vendorMessage(error) ?? "The model server reported an error.";
  const overflow = readContextOverflow(words);
  if (overflow !== undefined) {
    return new ServiceError("context_length_exceeded", describeOverflow(overflow), { overflow });
  }
  const { code, text } = KINDS.get(status) ?? { code: "upstream_error" };
  return new ServiceError(code, text ?? words, {
    upstreamStatus: typeof status === "number" ? status : undefined,
    retryAfterSeconds: readRetryDelay(JSON.stringify({ error })),
  });
}
