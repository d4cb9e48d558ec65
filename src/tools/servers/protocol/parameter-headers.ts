import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";

/** An argument that the schema of its tool marks by `x-mcp-header`. */
export interface MarkedArgument {
  /** `mcp-param-region`. */
  readonly header: string;
  readonly value: string | number | boolean;
}

const PREFIX = "mcp-param-";
const NAME = /^[\w!#$%&'*+\-.^`|~]{1,64}$/;
/** `undefined` is a schema that does not say it. */
const SIMPLE_TYPES: ReadonlySet<JsonValue | undefined> = new Set([
  "string",
  "integer",
  "number",
  "boolean",
  undefined,
]);
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
  for (const { header, value } of markedArguments(schema, args)) {
    const text = textOf(value);
    const hasRoom = Object.keys(headers).length < MAX_HEADERS;
    if (text !== undefined && hasRoom) headers[header] = encodeHeaderValue(text);
  }
  return headers;
}

/** Returns the marked arguments of simple types that the schema reaches through `properties` alone. */
export function markedArguments(schema: JsonObject, args: JsonObject): readonly MarkedArgument[] {
  const found: MarkedArgument[] = [];
  collect(schema, args, { found, depth: 0 });
  return found;
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
  walk: { readonly found: MarkedArgument[]; readonly depth: number },
): void {
  const { properties } = schema;
  if (!isJsonObject(properties) || walk.depth >= MAX_DEPTH) return;
  for (const [name, property] of Object.entries(properties)) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    if (!isJsonObject(property) || value === undefined) continue;
    const header = property["x-mcp-header"];
    const isMarked =
      typeof header === "string" && NAME.test(header) && SIMPLE_TYPES.has(property["type"]);
    if (isMarked && isSimple(value)) {
      walk.found.push({ header: PREFIX + header.toLowerCase(), value });
    }
    if (isJsonObject(value)) collect(property, value, { ...walk, depth: walk.depth + 1 });
  }
}

function isSimple(value: JsonValue): value is MarkedArgument["value"] {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

function textOf(value: MarkedArgument["value"]): string | undefined {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value.length <= MAX_VALUE_LENGTH ? value : undefined;
}
