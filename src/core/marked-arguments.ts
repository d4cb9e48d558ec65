import { isJsonObject, type JsonObject, type JsonValue } from "../lib/json.ts";

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
