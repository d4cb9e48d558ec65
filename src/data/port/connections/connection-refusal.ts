import { errorResponse } from "../protocol/backend-messages.ts";

/** Why a client does not get in. It is told so, unless its bytes are no protocol. */
export class ConnectionRefusal extends Error {
  override readonly name = "ConnectionRefusal";
  /** SQLSTATE. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor(code: string, message: string, hint?: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }

  /** The refusal as a message for the client. */
  toMessage(): Buffer {
    const { code, message, hint } = this;
    return errorResponse({ severity: "FATAL", code, message, hint });
  }
}

/** The bytes are no start of this protocol: another protocol's client gets no answer, as it could not read one. */
export class ForeignBytes extends ConnectionRefusal {
  constructor(message: string) {
    super("08P01", message);
  }
}

/** The client has left before it was logged in. */
export class ClientGone extends Error {
  override readonly name = "ClientGone";
}

export const protocolViolation = (message: string): ConnectionRefusal =>
  new ConnectionRefusal("08P01", message);
