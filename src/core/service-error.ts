import type { ContextOverflow } from "./context-overflow.ts";
import type { LimitStatus } from "./limit-status.ts";

/**
 * The one table of errors. A family only renders it; a status or a type is never written elsewhere.
 * `type` is the chat form's type, `messagesType` the messages form's.
 */
const ERROR_TABLE = {
  invalid_json: [400, "invalid_request_error", "invalid_request_error"],
  invalid_value: [400, "invalid_request_error", "invalid_request_error"],
  unsupported_parameter: [400, "invalid_request_error", "invalid_request_error"],
  previous_response_not_found: [400, "invalid_request_error", "invalid_request_error"],
  item_not_found: [400, "invalid_request_error", "invalid_request_error"],
  thread_unsupported_request: [400, "invalid_request_error", "invalid_request_error"],
  context_length_exceeded: [400, "invalid_request_error", "invalid_request_error"],
  invalid_api_key: [401, "authentication_error", "authentication_error"],
  session_required: [401, "authentication_error", "authentication_error"],
  session_expired: [401, "authentication_error", "authentication_error"],
  invalid_credentials: [401, "authentication_error", "authentication_error"],
  license_expired: [403, "permission_error", "permission_error"],
  license_user_limit: [403, "permission_error", "permission_error"],
  ip_denied: [403, "permission_error", "permission_error"],
  insufficient_permission: [403, "permission_error", "permission_error"],
  assistant_not_allowed: [403, "permission_error", "permission_error"],
  password_change_required: [403, "permission_error", "permission_error"],
  model_not_found: [404, "invalid_request_error", "not_found_error"],
  not_found: [404, "invalid_request_error", "not_found_error"],
  method_not_allowed: [405, "invalid_request_error", "invalid_request_error"],
  request_timeout: [408, "invalid_request_error", "timeout_error"],
  run_active: [409, "conflict_error", "invalid_request_error"],
  idempotency_mismatch: [409, "conflict_error", "invalid_request_error"],
  request_too_large: [413, "invalid_request_error", "request_too_large"],
  unsupported_media_type: [415, "invalid_request_error", "invalid_request_error"],
  rate_limit_exceeded: [429, "rate_limit_error", "rate_limit_error"],
  request_limit_exceeded: [429, "rate_limit_error", "rate_limit_error"],
  token_limit_exceeded: [429, "rate_limit_error", "rate_limit_error"],
  monthly_limit_exceeded: [429, "rate_limit_error", "rate_limit_error"],
  queue_full: [429, "rate_limit_error", "rate_limit_error"],
  internal_error: [500, "api_error", "api_error"],
  upstream_error: [502, "api_error", "api_error"],
  upstream_timeout: [504, "api_error", "timeout_error"],
  overloaded: [503, "overloaded_error", "overloaded_error"],
  storage_unavailable: [503, "overloaded_error", "overloaded_error"],
} as const satisfies Record<string, readonly [number, string, string]>;

export const ERROR_CODES: readonly string[] = Object.keys(ERROR_TABLE);
/** Of the chat form. */
export const ERROR_TYPES: readonly string[] = [
  ...new Set(Object.values(ERROR_TABLE).map(([, type]) => type)),
];
export type ErrorCode = keyof typeof ERROR_TABLE;
export type ErrorStatus = (typeof ERROR_TABLE)[ErrorCode][0];

export interface ErrorDetails {
  /** How far the prompt is too long: every family says it in the words its clients look for. */
  readonly overflow?: ContextOverflow | undefined;
  /** The status a vendor answered with, where a family passes it on. */
  readonly upstreamStatus?: number | undefined;
  /** The request field at fault, as a path: `messages[0].content`. */
  readonly param?: string | undefined;
  /** How long the client should wait, in whole seconds. Sent as `Retry-After`. A 429 or 503 always says one. */
  readonly retryAfterSeconds?: number | undefined;
  /** False when no wait helps: sent as `x-should-retry: false`, which client libraries obey. */
  readonly shouldRetry?: boolean | undefined;
  /** Where the key stands that was refused for a limit: each family tells it by headers of its own. */
  readonly limits?: LimitStatus | undefined;
  /** What went wrong beneath, for the log. Never shown to a client. */
  readonly cause?: unknown;
}

/** What a client is told to wait where nothing better is known. */
const DEFAULT_RETRY_AFTER_SECONDS = 5;

/** No wait makes a credential valid. Some clients try a 401 again for minutes unless they are told so. */
const HOPELESS: ReadonlySet<number> = new Set([401, 403]);

/** An error that a client may see. Everything else that is thrown is an `internal_error`. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly limits: LimitStatus | undefined;
  readonly overflow: ContextOverflow | undefined;
  readonly upstreamStatus: number | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = "ServiceError";
    this.code = code;
    this.param = details.param;
    const isToWait = this.status === 429 || this.status === 503;
    this.retryAfterSeconds =
      details.retryAfterSeconds ?? (isToWait ? DEFAULT_RETRY_AFTER_SECONDS : undefined);
    this.shouldRetry = details.shouldRetry ?? (HOPELESS.has(this.status) ? false : undefined);
    this.limits = details.limits;
    this.overflow = details.overflow;
    this.upstreamStatus = details.upstreamStatus;
  }

  /** The HTTP status. */
  get status(): ErrorStatus {
    return ERROR_TABLE[this.code][0];
  }

  /** The `type` of the chat, responses and embeddings form. */
  get type(): string {
    return ERROR_TABLE[this.code][1];
  }

  /** The `type` of the messages form. */
  get messagesType(): string {
    return ERROR_TABLE[this.code][2];
  }
}

/** The error a client sees for anything thrown: its own, or a bare `internal_error` with the cause kept for the log. */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError(
    "internal_error",
    "The gateway failed on this request. The operator finds the cause in the log by the request id.",
    { cause: thrown },
  );
}
