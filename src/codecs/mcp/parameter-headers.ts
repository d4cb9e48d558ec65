import { type MarkedArgument, markedArguments } from "../../core/marked-arguments.ts";
import type { JsonObject } from "../../lib/json.ts";
import { ProtocolError } from "./protocol-error.ts";
import { decoded } from "./read-era.ts";

/**
 * Checks that a call of 2026-07-28 repeats its marked arguments in its headers: a proxy may have decided by them. Throws
 * a `ProtocolError`.
 */
export function checkParameterHeaders(
  schema: JsonObject,
  args: JsonObject,
  headers: Headers,
): void {
  for (const { header, value } of markedArguments(schema, args)) {
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
