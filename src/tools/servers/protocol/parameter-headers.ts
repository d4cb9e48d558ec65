import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json.ts";

const PREFIX = "mcp-param-";
const NAME = /^[\w!#$%&'*+\-.^`|~]{1,64}$/;
/** Headers of one call, and the characters of one value. */
const MAX_HEADERS = 16;
const MAX_VALUE_LENGTH = 1_024;
const MAX_DEPTH = 8;

/**
 * Returns the headers that repeat arguments where the schema of the tool marks them by `x-mcp-header`, so that proxies
 * of the tool server can route by them. Only the version without handshake has them.
 */
export function parameterHeaders(schema: JsonObject, args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  collect(schema, args, { headers, depth: 0 });
  return headers;
}

/** Returns a text as the value of a header: as it is where it can be one, else encoded. */
export function encodeHeaderValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text);
  if (isPlain && !(text.startsWith("=?base64?") && text.endsWith("?="))) return text;
  return `=?base64?${Buffer.from(text).toString("base64")}?=`;
}

function collect(
  schema: JsonObject,
  args: JsonObject,
  found: { readonly headers: Record<string, string>; readonly depth: number },
): void {
  const { properties } = schema;
  if (!isJsonObject(properties) || found.depth >= MAX_DEPTH) return;
  for (const [name, property] of Object.entries(properties)) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (!isJsonObject(property) || value === undefined) continue;
    const header = property["x-mcp-header"];
    const text = textOf(value);
    const hasRoom = Object.keys(found.headers).length < MAX_HEADERS;
    if (typeof header === "string" && NAME.test(header) && text !== undefined && hasRoom) {
      found.headers[`${PREFIX}${header.toLowerCase()}`] = encodeHeaderValue(text);
    }
    if (isJsonObject(value)) collect(property, value, { ...found, depth: found.depth + 1 });
  }
}

function textOf(value: JsonValue): string | undefined {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value.length <= MAX_VALUE_LENGTH ? value : undefined;
}
