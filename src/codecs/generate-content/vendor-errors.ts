import { describeOverflow } from "../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import type { JsonObject } from "../../lib/json.ts";
import { vendorMessage } from "../shared/vendor-message.ts";
import { readContextOverflow } from "./context-overflow.ts";
import { readRetryDelay } from "./retry-delay.ts";

interface ErrorKind {
  readonly code: ErrorCode;
  /** Said instead of the vendor's words, where those are not for a client. */
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

/** The error that an object `{code, message, status}` tells of when it comes in place of an answer. */
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
