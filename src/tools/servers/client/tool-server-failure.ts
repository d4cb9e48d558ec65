/** The reason why a tool server could not be used. */
export type ToolServerReason =
  /** The URL is no http or https address, or holds a user name or a password. */
  | "invalid_url"
  /** The address is private and EGRESS_ALLOW does not list it. */
  | "forbidden"
  /** Its host is unknown, or nobody answers there. */
  | "unreachable"
  | "timeout"
  /** It redirects, which is never followed. */
  | "redirect"
  /** It wants other credentials: status 401 or 403. */
  | "unauthorized"
  /** It answers with another error status, or refuses to list its tools. */
  | "refused"
  /** Its answer is not what the protocol prescribes. */
  | "protocol"
  | "too_large";

/**
 * Describes why a tool server could not be used and what to do about it. The message is a sentence that may be shown to
 * administrators and models: it names no address and no header.
 */
export class ToolServerFailure extends Error {
  override readonly name = "ToolServerFailure";
  readonly reason: ToolServerReason;

  constructor(reason: ToolServerReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
