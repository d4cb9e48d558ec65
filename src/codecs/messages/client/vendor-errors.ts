import { describeOverflow } from "../../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json.ts";
import { vendorMessage } from "../../shared/vendor-message.ts";
import { readContextOverflow } from "./read-overflow.ts";

interface ErrorKind {
  readonly code: ErrorCode;
  readonly status: number;
  /** Said instead of the vendor's words, where those are not for a client. */
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

/** The error that an event or a body `{"type":"error","error":{…}}` tells of. */
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
