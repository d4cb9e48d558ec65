import { parseExactJson } from "../../../lib/json/exact-json.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import { isDeeperThan } from "../../../lib/json/json-depth.ts";

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

/** Longer ones are shown by their beginning only, which a text has and a value does not. */
const JSON_MAX_CHARACTERS = 4_000;
/** The runtime writes and reads by recursion, and a value with thousands of levels exhausts its stack. */
const JSON_MAX_DEPTH = 64;

/** JSON with all digits of its integers; text where it is long, nested deeply, or none after all. */
export function json(text: string): JsonValue {
  if (text.length > JSON_MAX_CHARACTERS) return text;
  if (isDeeperThan(JSON_MAX_DEPTH, Buffer.from(text))) return text;
  try {
    return parseExactJson(text);
  } catch {
    return text;
  }
}

/** Bytes: `\x` and two hexadecimal digits for each, as PostgreSQL writes them. */
export function bytes(value: Uint8Array): string {
  return `\\x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")}`;
}
