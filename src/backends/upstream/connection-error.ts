import { ServiceError } from "../../core/service-error.ts";
import { BodyTooLarge } from "../../lib/http/read-body-text.ts";

const REFUSED: ReadonlySet<string> = new Set(["ECONNREFUSED", "ConnectionRefused"]);
const NEVER_CONNECTED: ReadonlySet<string> = new Set([
  ...REFUSED,
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
/** The client's own connect timeout, on Node and on Bun. */
const CONNECT_TIMEOUTS: ReadonlySet<string> = new Set([
  "UND_ERR_CONNECT_TIMEOUT",
  "CONNECT_TIMEOUT",
]);
const TIMED_OUT: ReadonlySet<string> = new Set([...CONNECT_TIMEOUTS, "ETIMEDOUT"]);

/** Returns true when nothing listened at the address, so nothing was done and a retry is safe. */
export function isRefused(thrown: unknown): boolean {
  return REFUSED.has(codeOf(thrown));
}

/** Returns true when no connection was made, so nothing was done. */
export function isUnconnected(thrown: unknown): boolean {
  const code = codeOf(thrown);
  return NEVER_CONNECTED.has(code) || CONNECT_TIMEOUTS.has(code);
}

/** Returns the error for a failed connection. Its text and cause contain no address; the runtime's own text would. */
export function connectionError(thrown: unknown, addressSetting: string): ServiceError {
  if (thrown instanceof BodyTooLarge) {
    return new ServiceError("upstream_error", "The model server sent an answer that is too large.");
  }
  const code = codeOf(thrown);
  const cause = { connection: code };
  if (TIMED_OUT.has(code)) {
    return new ServiceError("upstream_timeout", "The model server does not answer.", { cause });
  }
  const text = NEVER_CONNECTED.has(code)
    ? `The model server cannot be reached. Is it running at the address in ${addressSetting}?`
    : "The connection to the model server was closed early.";
  return new ServiceError("upstream_error", text, { cause });
}

function codeOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "unknown";
  const code = "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" ? code : thrown.name;
}
