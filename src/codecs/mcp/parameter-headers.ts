import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";
import { ProtocolError } from "./protocol-error.ts";
import { decoded } from "./read-era.ts";

/** An argument that the schema of its tool marks by `x-mcp-header`. */
export interface MarkedArgument {
  /** `mcp-param-region`. */
  readonly header: string;
  readonly value: string | number | boolean;
}

const PREFIX = "mcp-param-";
const NAME = /^[\w!#$%&'*+\-.^`|~]{1,64}$/;
const TYPES: ReadonlySet<JsonValue | undefined> = new Set([
  "string",
  "integer",
  "number",
  "boolean",
  // A schema that does not say it.
  undefined,
]);
const MAX_DEPTH = 8;

/**
 * Returns the arguments that are also sent as headers, so that proxies can route by them: those of simple types that the
 * schema reaches through `properties` alone.
 */
export function markedArguments(schema: JsonObject, args: JsonObject): readonly MarkedArgument[] {
  const found: MarkedArgument[] = [];
  collect(schema, args, { found, depth: 0 });
  return found;
}

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
    const isMarked = typeof header === "string" && NAME.test(header) && TYPES.has(property["type"]);
    if (isMarked && isSimple(value)) {
      walk.found.push({ header: PREFIX + header.toLowerCase(), value });
    }
    if (isJsonObject(value)) collect(property, value, { ...walk, depth: walk.depth + 1 });
  }
}

function isSimple(value: JsonValue): value is MarkedArgument["value"] {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}
