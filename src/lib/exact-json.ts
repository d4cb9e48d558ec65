import type { JsonValue } from "./json.ts";

/** A string, which is kept as it is, or a number. */
const STRING_OR_NUMBER = /"(?:[^"\\]+|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const LONG_NUMBER = /\d{16}/;
const INTEGER = /^-?\d+$/;

/** Parses JSON as `JSON.parse` does, and keeps integers beyond 2^53 exact: as texts. Throws a `SyntaxError`. */
export function parseExactJson(text: string): JsonValue {
  const value = JSON.parse(text) as JsonValue;
  if (!LONG_NUMBER.test(text)) return value;
  return JSON.parse(text.replace(STRING_OR_NUMBER, quoteLarge)) as JsonValue;
}

function quoteLarge(token: string): string {
  return INTEGER.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token;
}
