import type { JsonObject } from "../../lib/json/json.ts";

/** Why a sign-in is refused, as the audit log records it. */
export type RefusalReason =
  | "wrong_state"
  | "wrong_nonce"
  | "wrong_issuer"
  | "wrong_audience"
  | "wrong_time"
  | "wrong_token"
  | "wrong_return_to"
  | "refused_by_provider"
  | "provider_unreachable"
  | "unusable_claims"
  | "not_allowed"
  | "unknown_user"
  | "name_taken"
  | "identity_taken"
  | "disabled"
  | "last_administrator"
  | "session_over"
  | "license_user_limit";

/** A sign-in that is refused, with a text for the page that the person sees. It says what to do, and holds no secret. */
export class SignInRefusal extends Error {
  override readonly name = "SignInRefusal";
  readonly status: number;
  readonly reason: RefusalReason;
  /** What an administrator needs to help, for the audit log. */
  readonly details: JsonObject;

  constructor(
    status: number,
    reason: RefusalReason,
    message: string,
    { details = {}, cause }: { readonly details?: JsonObject; readonly cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.reason = reason;
    this.details = details;
  }
}
