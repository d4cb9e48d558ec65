import { isJsonObject, type JsonObject, type JsonValue } from "../lib/json/json.ts";

/** The part of a schema that is checked here. */
export interface CheckedSchema {
  /** Its text as JSON: equal for schemas that check the same. */
  readonly text: string;
  /** How many comparisons one value may need at most: its schemas and the values that its enumerations hold. */
  readonly weight: number;
}

const MAX_BYTES = 16_384;
const MAX_NODES = 300;
/** Schemas that are tried on the same value. */
const MAX_VARIANTS = 32;

/** Keywords that check nothing. */
const SILENT: ReadonlySet<string> = new Set([
  ...["title", "description", "default", "examples", "format", "deprecated"],
  ...["readOnly", "writeOnly", "x-mcp-header"],
]);
const VALUES: ReadonlySet<string> = new Set(["const", "enum"]);
const NAMED: ReadonlySet<string> = new Set(["properties", "dependentSchemas"]);
const VARIANTS: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);
const ON_SAME_VALUE: ReadonlySet<string> = new Set(["not", "if", "then", "else"]);

interface Counts {
  nodes: number;
  variants: number;
  values: number;
}

class TooMuch extends Error {}

/**
 * Returns the part of a tool server's schema that is checked here; undefined where it is so large that compiling it, or
 * checking arguments by it, could hold up everybody else. Schemas of tool servers have no references.
 */
export function readCheckedSchema(schema: JsonObject): CheckedSchema | undefined {
  const counts: Counts = { nodes: 0, variants: 0, values: 0 };
  try {
    const text = JSON.stringify(checkedPart(schema, counts));
    if (Buffer.byteLength(text) > MAX_BYTES) return undefined;
    return { text, weight: counts.nodes + counts.values };
  } catch (thrown) {
    if (thrown instanceof TooMuch) return undefined;
    throw thrown;
  }
}

function checkedPart(schema: JsonValue, counts: Counts): JsonValue {
  counts.nodes += 1;
  if (counts.nodes > MAX_NODES) throw new TooMuch();
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).filter(([keyword]) => !SILENT.has(keyword));
  return Object.fromEntries(
    entries.map(([keyword, value]) => [keyword, checkedKeyword(keyword, value ?? null, counts)]),
  );
}

function checkedKeyword(keyword: string, value: JsonValue, counts: Counts): JsonValue {
  if (VALUES.has(keyword)) countValues(value, counts);
  else if (NAMED.has(keyword) && isJsonObject(value)) {
    const names = Object.entries(value);
    if (keyword === "dependentSchemas") addVariants(names.length, counts);
    return Object.fromEntries(
      names.map(([name, item]) => [name, checkedPart(item ?? null, counts)]),
    );
  } else if (Array.isArray(value) && (VARIANTS.has(keyword) || keyword === "prefixItems")) {
    if (VARIANTS.has(keyword)) addVariants(value.length, counts);
    return value.map((item) => checkedPart(item, counts));
  } else if (isJsonObject(value)) {
    if (ON_SAME_VALUE.has(keyword)) addVariants(1, counts);
    return keyword === "dependentRequired" ? value : checkedPart(value, counts);
  }
  return value;
}

function addVariants(added: number, counts: Counts): void {
  counts.variants += added;
  if (counts.variants > MAX_VARIANTS) throw new TooMuch();
}

/** Counts the values within a value, up to what the bytes of a schema can hold. */
function countValues(value: JsonValue, counts: Counts): void {
  counts.values += 1;
  if (counts.values > MAX_BYTES) throw new TooMuch();
  if (typeof value !== "object" || value === null) return;
  for (const item of Object.values(value)) countValues(item ?? null, counts);
}
