import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json.ts";
import { cleanText, cutText } from "./clean-text.ts";

const MAX_BYTES = 65_536;
const MAX_DEPTH = 32;
/** Schemas within the schema, each counted as often as references repeat it. */
const MAX_NODES = 5_000;
const MAX_ENUM = 500;
const MAX_PATTERN_SHOWN = 200;

/** Accepts whatever the tool server itself accepts. */
const ANY_OBJECT: JsonObject = { type: "object" };

const TYPES: ReadonlySet<unknown> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "object",
  "array",
  "null",
]);

type Clean = (value: JsonValue, place: Place) => JsonValue | undefined;

/** Where a part of the schema is. */
interface Place {
  readonly root: JsonObject;
  readonly depth: number;
  /** The references that led here. */
  readonly path: readonly string[];
  readonly budget: { nodes: number };
}

/** The schema is larger than it may be. */
class TooLarge extends Error {}

const number: Clean = (value) => (typeof value === "number" ? value : undefined);
const count: Clean = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined;
const flag: Clean = (value) => (typeof value === "boolean" ? value : undefined);
const text: Clean = (value) => (typeof value === "string" ? cleanText(value) : undefined);
const names: Clean = (value) => (isStrings(value) ? [...new Set(value.map(cleanText))] : undefined);
const schema: Clean = (value, place) =>
  typeof value === "boolean" || isJsonObject(value) ? cleanNode(value, place) : undefined;
const schemas: Clean = (value, place) =>
  Array.isArray(value) && value.length > 0
    ? value.map((item) => schema(item, place) ?? true)
    : undefined;
const namedSchemas: Clean = (value, place) =>
  isJsonObject(value) ? mapEntries(value, (item) => schema(item, place) ?? true) : undefined;
const anyValue: Clean = (value, place) => cleanValue(value, place.depth);

/**
 * The keywords that are kept, with how. Left out are `$id`, `$anchor` and the like; `pattern` and `patternProperties`,
 * which can take a validator hours; `uniqueItems`, which compares everything with everything. The tool server checks
 * them itself. References are replaced by what they refer to.
 */
const KEYWORDS: Readonly<Record<string, Clean>> = {
  type: (value) => (isType(value) ? value : undefined),
  title: text,
  description: text,
  format: text,
  default: anyValue,
  const: anyValue,
  enum: (value, place) =>
    Array.isArray(value) && value.length > 0 && value.length <= MAX_ENUM
      ? anyValue(value, place)
      : undefined,
  examples: (value, place) => (Array.isArray(value) ? anyValue(value, place) : undefined),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: (value) => (typeof value === "number" && value > 0 ? value : undefined),
  minLength: count,
  maxLength: count,
  minItems: count,
  maxItems: count,
  minContains: count,
  maxContains: count,
  minProperties: count,
  maxProperties: count,
  required: names,
  deprecated: flag,
  readOnly: flag,
  writeOnly: flag,
  properties: namedSchemas,
  additionalProperties: schema,
  unevaluatedProperties: schema,
  propertyNames: schema,
  dependentSchemas: namedSchemas,
  dependentRequired: (value) =>
    isJsonObject(value) && Object.values(value).every(isStrings)
      ? mapEntries(value, (item) => (isStrings(item) ? item.map(cleanText) : []))
      : undefined,
  items: schema,
  prefixItems: schemas,
  additionalItems: schema,
  unevaluatedItems: schema,
  contains: schema,
  allOf: schemas,
  anyOf: schemas,
  oneOf: schemas,
  not: schema,
  if: schema,
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
  then: schema,
  else: schema,
  "x-mcp-header": text,
};

/**
 * Returns the schema of a tool's arguments as it is shown and checked here; undefined where it is no object schema. What
 * is too deep accepts anything, and so does a whole schema that is too large: the tool server checks its arguments.
 */
export function cleanInputSchema(input: JsonValue | undefined): JsonObject | undefined {
  if (input === undefined || input === null) return ANY_OBJECT;
  if (!isJsonObject(input) || (input["type"] ?? "object") !== "object") return undefined;
  const place: Place = { root: input, depth: 0, path: [], budget: { nodes: MAX_NODES } };
  try {
    const cleaned = cleanNode(input, place);
    const whole: JsonObject = { ...ANY_OBJECT, ...(isJsonObject(cleaned) && cleaned) };
    return Buffer.byteLength(JSON.stringify(whole)) <= MAX_BYTES ? whole : ANY_OBJECT;
  } catch (thrown) {
    if (thrown instanceof TooLarge) return ANY_OBJECT;
    throw thrown;
  }
}

function cleanNode(node: JsonObject | boolean, place: Place): JsonObject | boolean {
  if (typeof node === "boolean") return node;
  if (place.depth >= MAX_DEPTH) return true;
  place.budget.nodes -= 1;
  if (place.budget.nodes < 0) throw new TooLarge();
  const below = { ...place, depth: place.depth + 1 };
  const entries = Object.entries(modern(node)).flatMap(([name, value]) => {
    const clean = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
    const cleaned = value === undefined ? undefined : clean?.(value, below);
    return cleaned === undefined ? [] : [[name, cleaned] as const];
  });
  const cleaned: JsonObject = Object.fromEntries(entries);
  const referred = followReference(node["$ref"], below);
  if (referred === undefined) return cleaned;
  if (entries.length === 0) return referred;
  const rest = Array.isArray(cleaned["allOf"]) ? cleaned["allOf"] : [];
  return { ...cleaned, allOf: [...rest, referred] };
}

/** Returns what a reference within the schema refers to; undefined for another one. A circle ends: anything goes there. */
function followReference(
  reference: JsonValue | undefined,
  place: Place,
): JsonObject | boolean | undefined {
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined;
  if (place.path.includes(reference)) return true;
  let target: JsonValue | undefined = place.root;
  for (const word of reference.split("/").slice(1)) {
    const name = decodePointer(word);
    target = valueIn(target, name);
  }
  if (typeof target !== "boolean" && !isJsonObject(target)) return undefined;
  return cleanNode(target, { ...place, path: [...place.path, reference] });
}

function valueIn(container: JsonValue | undefined, name: string): JsonValue | undefined {
  const isInside =
    typeof container === "object" && container !== null && Object.hasOwn(container, name);
  return isInside ? (Reflect.get(container, name) as JsonValue) : undefined;
}

function decodePointer(word: string): string {
  const plain = word.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}

/** Rewrites what older drafts and other dialects spell otherwise. A pattern becomes a part of the description. */
function modern(node: JsonObject): JsonObject {
  const { pattern, nullable, items, type } = node;
  const shown =
    typeof pattern === "string" ? `Pattern: ${cutText(pattern, MAX_PATTERN_SHOWN)}` : "";
  const description = typeof node["description"] === "string" ? node["description"] : "";
  return {
    ...node,
    ...(shown !== "" && { description: `${description} ${shown}`.trim() }),
    ...(nullable === true && typeof type === "string" && { type: [type, "null"] }),
    ...(Array.isArray(items) && { prefixItems: items, items: node["additionalItems"] }),
  };
}

function cleanValue(value: JsonValue, depth: number): JsonValue | undefined {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, depth + 1) ?? null);
  return mapEntries(value as JsonObject, (item) => cleanValue(item, depth + 1) ?? null);
}

/** Unlike an assignment, it makes a property even of the name `__proto__`. */
function mapEntries(value: JsonObject, change: (item: JsonValue) => JsonValue): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [cleanText(name), change(item ?? null)]),
  );
}

function isType(value: JsonValue): boolean {
  return Array.isArray(value)
    ? value.length > 0 &&
        new Set(value).size === value.length &&
        value.every((one) => TYPES.has(one))
    : TYPES.has(value);
}

function isStrings(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
