/** Why an address that somebody entered was not fetched. */
export type EgressReason =
  | "invalid_url"
  | "credentials"
  | "unknown_host"
  | "forbidden"
  | "redirects"
  | "status"
  | "too_large"
  | "no_image"
  | "timeout"
  | "failed";

/** The message says what was wrong with the address; whoever entered it may read it, for it names no other address. */
export class EgressError extends Error {
  override readonly name = "EgressError";
  readonly reason: EgressReason;

  constructor(reason: EgressReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
