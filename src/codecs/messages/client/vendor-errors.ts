import { type ContextOverflow, describeOverflow } from "../../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { vendorMessage } from "../../shared/errors/vendor-message.ts";

const PROMPT_TOO_LONG = /prompt is too long: (\d+) tokens > (\d+) maximum/i;
const BOTH_TOO_LONG = /input length and `?max_tokens`? exceed context limit: (\d+) \+ \d+ > (\d+)/i;
const ANSWER_TOO_LONG = /max_tokens: \d+ > (\d+)/i;

/** Reads the vendor's message that a call does not fit the model; returns undefined for any other message. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  const [, promptTokens, contextLength] =
    PROMPT_TOO_LONG.exec(message) ?? BOTH_TOO_LONG.exec(message) ?? [];
  if (promptTokens !== undefined && contextLength !== undefined) {
    return { promptTokens: Number(promptTokens), contextLength: Number(contextLength) };
  }
  const answerTokens = ANSWER_TOO_LONG.exec(message)?.[1];
  // The limit on the answer is treated as a context length that is available to the answer only.
  return answerTokens === undefined
    ? undefined
    : { promptTokens: 0, contextLength: Number(answerTokens) };
}

interface ErrorKind {
  readonly code: ErrorCode;
  readonly status: number;
  /** Replaces the vendor's message where that is not meant for a client. */
  readonly text?: string;
}

const KEY_REFUSED = "The model server refused the gateway's key.";

const KINDS: ReadonlyMap<unknown, ErrorKind> = new Map<string, ErrorKind>([
  ["invalid_request_error", { code: "invalid_value", status: 400 }],
  ["authentication_error", { code: "upstream_error", status: 401, text: KEY_REFUSED }],
  ["billing_error", { code: "upstream_error", status: 402, text: KEY_REFUSED }],
  ["permission_error", { code: "upstream_error", status: 403, text: KEY_REFUSED }],
  [
    "not_found_error",
    {
      code: "upstream_error",
      status: 404,
      text: "The model server does not have the model or the interface asked for.",
    },
  ],
  ["request_too_large", { code: "request_too_large", status: 413 }],
  ["rate_limit_error", { code: "rate_limit_exceeded", status: 429 }],
  ["api_error", { code: "upstream_error", status: 500 }],
  ["timeout_error", { code: "upstream_timeout", status: 504 }],
  ["overloaded_error", { code: "overloaded", status: 529 }],
]);

/** Builds the error that an event or a body `{"type":"error","error":{…}}` reports. */
export function toVendorError(body: JsonObject): ServiceError {
  const { error } = body;
  const told = isJsonObject(error) ? error : {};
  const { type } = told;
  const words = vendorMessage(told) ?? "The model server reported an error.";
  const overflow = type === "invalid_request_error" ? readContextOverflow(words) : undefined;
  if (overflow !== undefined) {
    return new ServiceError("context_length_exceeded", describeOverflow(overflow), { overflow });
  }
  const { code, status, text } = KINDS.get(type) ?? { code: "upstream_error", status: 500 };
  return new ServiceError(code, text ?? words, { upstreamStatus: status });
}
