import type { JsonObject } from "../lib/json/json.ts";
import type { Usage } from "./chat/usage.ts";
import type { ContextOverflow } from "./context-overflow.ts";
import type { LimitStatus } from "./limit-status.ts";

/**
 * The only table of errors. An API family renders it; a status or a type is never defined elsewhere. `type` is the type
 * in the chat format, `messagesType` the type in the messages format.
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
  workflow_loop: [409, "conflict_error", "invalid_request_error"],
  version_conflict: [409, "conflict_error", "invalid_request_error"],
  changed_meanwhile: [409, "conflict_error", "invalid_request_error"],
  chat_not_kept: [409, "conflict_error", "invalid_request_error"],
  chat_unreadable: [409, "conflict_error", "invalid_request_error"],
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
/** The types in the chat format. */
export const ERROR_TYPES: readonly string[] = [
  ...new Set(Object.values(ERROR_TABLE).map(([, type]) => type)),
];
export type ErrorCode = keyof typeof ERROR_TABLE;
export type ErrorStatus = (typeof ERROR_TABLE)[ErrorCode][0];

export interface ErrorDetails {
  /** By how much the prompt is too long. Every family describes it in the words its clients search for. */
  readonly overflow?: ContextOverflow | undefined;
  /** What a failed answer used, as far as its vendor reports it. For the meter; never shown to a client. */
  readonly usage?: Usage | undefined;
  /** The status a vendor answered with, for families that pass it on. */
  readonly upstreamStatus?: number | undefined;
  /** The path of the invalid request field: `messages[0].content`. */
  readonly param?: string | undefined;
  /** How long the client should wait, in whole seconds. Sent as `Retry-After`. Always set on a 429 or 503. */
  readonly retryAfterSeconds?: number | undefined;
  /** False when a retry cannot succeed: sent as `x-should-retry: false`, which client libraries obey. */
  readonly shouldRetry?: boolean | undefined;
  /** The status of the limits of the refused key. Each API family reports it in its own headers. */
  readonly limits?: LimitStatus | undefined;
  /** Further details for clients, shown as `ext` beside `error`. */
  readonly ext?: JsonObject | undefined;
  /** The underlying error, for the log. Never shown to a client. */
  readonly cause?: unknown;
}

/** The `Retry-After` value when no better one is known. */
const DEFAULT_RETRY_AFTER_SECONDS = 5;

/** Waiting does not make a credential valid. Without `x-should-retry: false` some clients retry a 401 for minutes. */
const HOPELESS: ReadonlySet<number> = new Set([401, 403]);

/** An error that a client may see. Any other thrown value becomes an `internal_error`. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly param: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly shouldRetry: boolean | undefined;
  readonly limits: LimitStatus | undefined;
  readonly overflow: ContextOverflow | undefined;
  readonly usage: Usage | undefined;
  readonly upstreamStatus: number | undefined;
  readonly ext: JsonObject | undefined;

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
    this.usage = details.usage;
    this.upstreamStatus = details.upstreamStatus;
    this.ext = details.ext;
  }

  get status(): ErrorStatus {
    return ERROR_TABLE[this.code][0];
  }

  /** The `type` in the chat, responses and embeddings formats. */
  get type(): string {
    return ERROR_TABLE[this.code][1];
  }

  /** The `type` in the messages format. */
  get messagesType(): string {
    return ERROR_TABLE[this.code][2];
  }
}

/** Returns the error of work that used tokens of an engine before it failed. */
export function errorWithUsage(error: ServiceError, usage: Usage): ServiceError {
  return new ServiceError(error.code, error.message, { ...error, cause: error.cause, usage });
}

/**
 * Returns the error that a client sees for any thrown value: a `ServiceError` itself, or a generic `internal_error`
 * with the cause kept for the log.
 */
export function toServiceError(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError(
    "internal_error",
    "The gateway failed on this request. The operator finds the cause in the log by the request id.",
    { cause: thrown },
  );
}
