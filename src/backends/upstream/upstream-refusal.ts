import type { ContextOverflow } from "../../core/context-overflow.ts";
import { type ErrorCode, ServiceError } from "../../core/service-error.ts";

/** An engine's response with a status other than success. */
export interface UpstreamRefusal {
  readonly status: number;
  /** The engine's own message, unredacted: it may contain our key. */
  readonly message: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  /** How far the prompt is too long, where the engine reports numbers outside its message. */
  readonly overflow?: ContextOverflow | undefined;
}

/**
 * The client's error by the engine's status. A fault of the request or the engine is reported with the engine's own
 * message, if any. Of a fault of our credential or address the client learns no details.
 */
const ERROR_BY_STATUS: Readonly<Record<number, readonly [ErrorCode, string]>> = {
  400: ["invalid_value", "The model server refused the request."],
  401: ["upstream_error", "The model server refused the gateway's key."],
  403: ["upstream_error", "The model server refused the gateway's key."],
  404: ["upstream_error", "The model server does not have the model or the interface asked for."],
  408: ["upstream_timeout", "The model server took too long."],
  413: ["request_too_large", "The request is too large for the model server."],
  422: ["invalid_value", "The model server refused the request."],
  429: ["rate_limit_exceeded", "The model server is at its rate limit."],
  503: ["overloaded", "The model server is overloaded."],
  504: ["upstream_timeout", "The model server took too long."],
  529: ["overloaded", "The model server is overloaded."],
};
const TELLS_TO_WAIT: ReadonlySet<ErrorCode> = new Set(["rate_limit_exceeded", "overloaded"]);

/** Builds the error for a refusal. The engine's message in it is not redacted yet. */
export function refusalError({
  status,
  message,
  retryAfterSeconds,
}: UpstreamRefusal): ServiceError {
  const [code, text] = ERROR_BY_STATUS[status] ?? [
    "upstream_error",
    `The model server failed with status ${status}.`,
  ];
  return new ServiceError(code, inWords({ status, code, text, message }), {
    upstreamStatus: status,
    cause: { upstreamStatus: status },
    ...(TELLS_TO_WAIT.has(code) && { retryAfterSeconds }),
  });
}

interface Telling {
  readonly status: number;
  readonly code: ErrorCode;
  readonly text: string;
  readonly message: string | undefined;
}

function inWords({ status, code, text, message }: Telling): string {
  if (message === undefined) return text;
  if (code === "invalid_value") return message;
  return status >= 500 ? `${text} It says: ${message}` : text;
}
