/** The reason why a user-supplied address was not fetched or called. */
export type EgressReason =
  | "invalid_url"
  | "credentials"
  | "invalid_header"
  | "certificate"
  | "unknown_host"
  | "forbidden"
  | "redirects"
  | "status"
  | "too_large"
  | "no_image"
  | "timeout"
  | "failed";

/**
 * Describes what was wrong with a user-supplied address. The message may be shown to that user, because it names no
 * other address.
 */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly reason: EgressReason;

  constructor(reason: EgressReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
