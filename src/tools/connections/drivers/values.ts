import type { JsonValue } from "../../../lib/json.ts";

/** An integer: a number where JSON's readers keep it whole, otherwise text. */
export function integer(text: string): JsonValue {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : text;
}

/** A floating-point number; NaN and the infinities are texts. */
export function float(text: string): JsonValue {
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

/** JSON as it is; text where it is none after all. */
export function json(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}

/** Bytes: `\x` and two hexadecimal digits for each, as PostgreSQL writes them. */
export function bytes(value: Uint8Array): string {
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}
