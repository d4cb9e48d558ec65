import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import type { ReadFailure, ReadRequest } from "../process/process-messages.ts";

/** Waiting helps against these. */
const BUSY_SECONDS = 2;

/** The codes of an error of the database by SQLSTATE, or by its class, which are its first two characters. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  "28P01": "invalid_api_key",
  "28000": "insufficient_permission",
  "42501": "insufficient_permission",
  "53300": "rate_limit_exceeded",
  "57014": "upstream_timeout",
  // The number of `params` is another one than the statement's.
  "08P01": "invalid_value",
  // A row, a text or an answer that is over a limit.
  "54": "invalid_value",
  // Values, and a statement that PostgreSQL cannot parse or that names what is not there.
  "0A": "invalid_value",
  "21": "invalid_value",
  "22": "invalid_value",
  "25": "invalid_value",
  "26": "invalid_value",
  "34": "invalid_value",
  "3F": "invalid_value",
  "42": "invalid_value",
};

/** Returns the error that a client sees for what the data process or its database refused. */
export function readError(
  { code, message, hint, position }: ReadFailure,
  via: ReadRequest["via"],
): ServiceError {
  // Of a list that the server has built, the view itself is what can be missing: it was deleted since.
  const isGone = via === "list" && code === "42P01";
  const found = isGone ? "not_found" : (CODES[code] ?? CODES[code.slice(0, 2)]);
  const text = hint === undefined || hint === "" ? message : `${message} ${hint}`;
  const ext = { sqlstate: code, ...(hint && { hint }), ...(position && { position }) };
  return new ServiceError(found ?? "storage_unavailable", text, {
    ext,
    ...(found === "invalid_value" && via === "query" && { param: "sql" }),
    ...(found === "rate_limit_exceeded" && { retryAfterSeconds: BUSY_SECONDS }),
    // The same statement takes as long again.
    ...(found === "upstream_timeout" && { shouldRetry: false }),
  });
}
