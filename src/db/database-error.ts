import { DrizzleQueryError } from "drizzle-orm";

/** What the database said, without statement, parameters or address: fit for the log. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** The SQLSTATE, or the system's or the driver's word (`ECONNREFUSED`, `CONNECT_TIMEOUT`). */
  readonly code: string;
  /** The constraint that was violated. */
  readonly constraint: string | undefined;

  constructor(code: string, message: string, constraint?: string) {
    super(message);
    this.code = code;
    this.constraint = constraint;
  }
}

/** Classes 22 and 23 quote the values at fault in their message. */
const QUOTES_VALUES = /^2[23]/;

/** Turns whatever a query threw into a DatabaseError; nothing of the original travels along. */
export function toDatabaseError(thrown: unknown): DatabaseError {
  if (thrown instanceof DatabaseError) return thrown;
  const origin = rootCause(thrown);
  const code = "code" in origin && typeof origin.code === "string" ? origin.code : origin.name;
  const isFromServer = "severity" in origin;
  const isQuotable = isFromServer && !QUOTES_VALUES.test(code);
  const constraint = constraintOf(origin);
  const text = isQuotable ? origin.message : constraint && `constraint ${constraint}`;
  const message = `The database failed with ${code}${text === undefined ? "" : `: ${text}`}.`;
  return new DatabaseError(code, message, constraint);
}

/** True for what the driver throws, wrapped by drizzle or not; false for a fault in our own code around it. */
export function isFromDatabase(thrown: unknown): boolean {
  return thrown instanceof DrizzleQueryError || "code" in rootCause(thrown);
}

/** True for a query that failed, and for nothing else: not for a fault of files or sockets around it. */
export function isQueryFailure(thrown: unknown): boolean {
  return thrown instanceof DrizzleQueryError || thrown instanceof DatabaseError;
}

/**
 * True when the database cannot be reached or is going down, full or starting: a matter of waiting.
 * Classes: 08 connection, 53 resources, 57 operator's intervention.
 */
export function isUnavailable(error: DatabaseError): boolean {
  return /^(08|53|57)|^(CONNECT|E[A-Z]{3,}$)/.test(error.code);
}

/** True when the connection that was used is gone, by the server's word or by the system's. */
export function isConnectionLost(error: DatabaseError): boolean {
  return /^(CONNECTION_CLOSED$|57P0|ECONN|EPIPE$)/.test(error.code);
}

function rootCause(thrown: unknown): Error {
  let error = thrown instanceof Error ? thrown : new Error("unknown");
  // A driver's error is wrapped once by drizzle; the limit only guards against a ring.
  for (let depth = 0; depth < 5 && error.cause instanceof Error; depth += 1) error = error.cause;
  return error;
}

function constraintOf(error: Error): string | undefined {
  const name = "constraint_name" in error ? error.constraint_name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
