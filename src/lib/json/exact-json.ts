import type { JsonValue } from "./json.ts";
import { rewriteJson } from "./json-strings.ts";

/** Nothing shorter can be beyond what a number holds: 2^53 has 16 digits, and an exponent of 308 has three. */
const SUSPICIOUS = /\d{16}|\d[eE]\+?\d{3}/;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const SPACE = /[ \t\r\n]+/g;
const INTEGER = /^-?\d+$/;

/**
 * Returns a JSON text in which every integer that a number would round is a string of the same digits, and so is a
 * number too large to be one. A text that is no JSON stays none.
 */
export function keepLargeNumbers(text: string): string {
  if (!mayHaveLargeNumbers(text)) return text;
  return rewriteJson(text, (part) => (/\d/.test(part) ? withLargeNumbersKept(part) : part));
}

/** @param text is what stands between two strings. */
function withLargeNumbersKept(text: string): string {
  return text.replace(NUMBER, (token, offset: number) => {
    const value = Number(token);
    const isKept = INTEGER.test(token) ? Number.isSafeInteger(value) : Number.isFinite(value);
    return isKept || isName(text, offset + token.length) ? token : `"${token}"`;
  });
}

/** Finds out quickly. It is true of some texts without such a number, too. */
export function mayHaveLargeNumbers(text: string): boolean {
  return SUSPICIOUS.test(text);
}

/** Whether a colon follows. A name without quotation marks is no JSON, and must not become some. */
function isName(text: string, end: number): boolean {
  let at = end;
  while (/[ \t\r\n]/.test(text[at] ?? "")) at += 1;
  return text[at] === ":";
}

/** Parses JSON as `JSON.parse` does, after `keepLargeNumbers`. Throws a `SyntaxError`. */
export function parseExactJson(text: string): JsonValue {
  return JSON.parse(keepLargeNumbers(text)) as JsonValue;
}

/**
 * Returns a JSON text as `JSON.stringify` would write its value if that kept every number; undefined where it does. The text
 * must be valid JSON.
 */
export function writeLargeNumbers(text: string): string | undefined {
  if (keepLargeNumbers(text) === text) return undefined;
  return rewriteJson(
    text,
    (part) => part.replace(SPACE, ""),
    (token) => (token.includes("\\") ? JSON.stringify(JSON.parse(token)) : token),
  );
}
