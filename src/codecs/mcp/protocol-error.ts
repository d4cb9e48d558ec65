import type { JsonObject } from "../../lib/json/json.ts";
import type { Era } from "./versions.ts";

/** The errors of the protocol: their code, and the HTTP status in each era. */
const ERRORS = {
  invalidRequest: { code: -32600, legacy: 400, modern: 400 },
  methodNotFound: { code: -32601, legacy: 200, modern: 404 },
  invalidParams: { code: -32602, legacy: 200, modern: 200 },
  /** The part of the parameters that says how the client speaks the protocol. */
  invalidEnvelope: { code: -32602, legacy: 400, modern: 400 },
  internalError: { code: -32603, legacy: 200, modern: 200 },
  headerMismatch: { code: -32020, legacy: 400, modern: 400 },
  unsupportedVersion: { code: -32022, legacy: 400, modern: 400 },
} as const;

export type ProtocolErrorKind = keyof typeof ERRORS;

/** An error in the protocol's own form. Errors of HTTP, such as 401 and 429, are `ServiceError`s. */
export class ProtocolError extends Error {
  readonly kind: ProtocolErrorKind;
  readonly data: JsonObject | undefined;

  constructor(kind: ProtocolErrorKind, message: string, data?: JsonObject) {
    super(message);
    this.name = "ProtocolError";
    this.kind = kind;
    this.data = data;
  }

  get code(): number {
    return ERRORS[this.kind].code;
  }

  statusIn(era: Era): number {
    return ERRORS[this.kind][era];
  }
}
