import { type MarkedArgument, markedArguments } from "../../../core/marked-arguments.ts";
import type { JsonObject } from "../../../lib/json.ts";

/** Headers of one call, and the characters of one value. */
const MAX_HEADERS = 16;
const MAX_VALUE_LENGTH = 1_024;

/**
 * Returns the headers that repeat arguments where the schema of the tool marks them by `x-mcp-header`, so that proxies
 * of the tool server can route by them. Only the version without handshake has them.
 */
export function parameterHeaders(schema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { header, value } of markedArguments(schema, args)) {
    const text = textOf(value);
    const hasRoom = Object.keys(headers).length < MAX_HEADERS;
    if (text !== undefined && hasRoom) headers[header] = encodeHeaderValue(text);
  }
  return headers;
}

/** Returns a text as the value of a header: as it is where it can be one, else encoded. */
export function encodeHeaderValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function textOf(value: MarkedArgument["value"]): string | undefined {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value.length <= MAX_VALUE_LENGTH ? value : undefined;
}
