import { ProtocolError } from "./protocol-error.ts";
import { decoded } from "./read-era.ts";

/** An argument that a call of 2026-07-28 repeats in a header, because the schema of its tool marks it. */
export interface MarkedArgument {
  /** `mcp-param-region`. */
  readonly header: string;
  readonly value: string | number | boolean;
}

/** Throws a `ProtocolError` unless each argument is in its header: a proxy may have decided by that. */
export function checkMarkedArguments(marked: readonly MarkedArgument[], headers: Headers): void {
  for (const { header, value } of marked) {
    const sent = headers.get(header);
    if (sent !== null && isSame(decoded(sent), value)) continue;
    const fault = sent === null ? "is missing" : "differs from the body";
    throw new ProtocolError(
      "headerMismatch",
      `Headers and body disagree: the header ${header} ${fault}.`,
    );
  }
}

function isSame(sent: string | undefined, value: MarkedArgument["value"]): boolean {
  if (sent === undefined) return false;
  if (typeof value !== "number") return sent === String(value);
  return sent.trim() !== "" && Number(sent) === value;
}
