import { DrizzleQueryError } from "drizzle-orm";

/** A database failure without statement, parameters or address, so that it can be logged. */
export class DatabaseError extends Error {
  override readonly name = "DatabaseError";
  /** The SQLSTATE, or the code of the system or the driver (`ECONNREFUSED`, `CONNECT_TIMEOUT`). */
  readonly code: string;
  /** The violated constraint. */
  readonly constraint: string | undefined;

  constructor(code: string, message: string, constraint?: string) {
    super(message);
    this.code = code;
    this.constraint = constraint;
  }
}

/** SQLSTATE of a wait for a lock that took too long. */
export const LOCK_NOT_AVAILABLE = "55P03";

/** SQLSTATE of a change that the server does not take: a standby, or a database that is set so. */
const READ_ONLY = "25006";

/** SQLSTATE classes 22 and 23 quote the offending values in their message. */
const QUOTES_VALUES = /^2[23]/;

/** Converts any error of a query into a DatabaseError. The original error is not attached. */
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

/** Returns true for an error of the driver, wrapped by drizzle or not; false for a fault in our own code around it. */
export function isFromDatabase(thrown: unknown): boolean {
  return thrown instanceof DrizzleQueryError || "code" in rootCause(thrown);
}

/** Returns true only for a failed query, not for a fault of files or sockets around it. */
export function isQueryFailure(thrown: unknown): boolean {
  return thrown instanceof DrizzleQueryError || thrown instanceof DatabaseError;
}

/**
 * Returns true when the database is unreachable, shutting down, full, starting, or a standby that takes no changes, so that
 * waiting helps. Classes: 08 connection, 53 resources, 57 operator intervention, 58 the server's own system.
 */
export function isUnavailable(error: DatabaseError): boolean {
  return isReadOnly(error) || /^(08|53|57|58)|^(CONNECT|E[A-Z]{3,}$)/.test(error.code);
}

/** Returns true when the server takes no changes, so that another one may be the right one now. */
export function isReadOnly(error: DatabaseError): boolean {
  return error.code === READ_ONLY;
}

/** Returns true when the connection was lost, as reported by the server or the system. */
export function isConnectionLost(error: DatabaseError): boolean {
  return /^(CONNECTION_CLOSED$|25P03$|57P0|ECONN|EPIPE$)/.test(error.code);
}

/**
 * Returns true when the same work succeeds later: the database is unavailable, a lock was not to be had in time, or the
 * transaction was ended because its worker stood still.
 */
export function isPassing(error: DatabaseError): boolean {
  return isUnavailable(error) || isConnectionLost(error) || error.code === LOCK_NOT_AVAILABLE;
}

function rootCause(thrown: unknown): Error {
  let error = thrown instanceof Error ? thrown : new Error("unknown");
  // drizzle wraps a driver's error once; the limit only guards against a cycle.
  for (let depth = 0; depth < 5 && error.cause instanceof Error; depth += 1) error = error.cause;
  return error;
}

function constraintOf(error: Error): string | undefined {
  const name = "constraint_name" in error ? error.constraint_name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
