import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { type CleanBudget, type CleanLimits, createCleanBudget, TooLarge } from "./clean-budget.ts";
import { cleanText, cutText } from "./clean-text.ts";

/** Of one schema. */
const LIMITS: CleanLimits = { bytes: 65_536, nodes: 5_000 };
const MAX_DEPTH = 32;
const MAX_ENUM = 500;
const MAX_PATTERN_SHOWN = 200;
/** What a value without text costs: a number, a word, or the brackets of a list with a comma. */
const SMALL_BYTES = 4;

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
  readonly budget: CleanBudget;
}

const number: Clean = (value) => (typeof value === "number" ? value : undefined);
const count: Clean = (value) =>
  Number.isSafeInteger(value) && Number(value) >= 0 ? value : undefined;
const flag: Clean = (value) => (typeof value === "boolean" ? value : undefined);
const text: Clean = (value, { budget }) =>
  typeof value === "string" ? copyText(value, budget) : undefined;
const names: Clean = (value, { budget }) => copyNames(value, budget);
const schema: Clean = (value, place) =>
  typeof value === "boolean" || isJsonObject(value) ? cleanNode(value, place) : undefined;
const schemas: Clean = (value, place) =>
  Array.isArray(value) && value.length > 0
    ? value.map((item) => schema(item, place) ?? anything(place))
    : undefined;
const namedSchemas: Clean = (value, place) =>
  isJsonObject(value)
    ? mapEntries(value, place.budget, (item) => schema(item, place) ?? anything(place))
    : undefined;
const anyValue: Clean = (value, { depth, budget }) => copyValue(value, depth, budget);

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
  dependentRequired: (value, { budget }) =>
    isJsonObject(value)
      ? mapEntries(value, budget, (item) => copyNames(item, budget) ?? [])
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

const CLEANERS = Object.entries(KEYWORDS);

/**
 * Returns the schema of a tool's arguments as it is shown and checked here; undefined where it is no object schema. What
 * is too deep accepts anything, and so does a whole schema that is too large: the tool server checks its arguments.
 * `listBudget` is that of all schemas of one list.
 */
export function cleanInputSchema(
  input: JsonValue | undefined,
  listBudget?: CleanBudget,
): JsonObject | undefined {
  if (!isInputSchema(input)) return undefined;
  if (!isJsonObject(input)) return ANY_OBJECT;
  const budget = createCleanBudget(LIMITS, listBudget);
  try {
    const cleaned = cleanNode(input, { root: input, depth: 0, path: [], budget });
    const whole: JsonObject = { ...ANY_OBJECT, ...(isJsonObject(cleaned) && cleaned) };
    // The budget does not count the escapes of JSON.
    return Buffer.byteLength(JSON.stringify(whole)) <= LIMITS.bytes ? whole : ANY_OBJECT;
  } catch (thrown) {
    if (thrown instanceof TooLarge) return ANY_OBJECT;
    throw thrown;
  }
}

/** Whether a schema was too large, and one that accepts any object was returned in its place. */
export function isReplaced(input: JsonValue | undefined, cleaned: JsonObject): boolean {
  return isJsonObject(input) && cleaned === ANY_OBJECT;
}

/** Whether this can be the schema of a tool's arguments: it is that of an object, or there is none. */
export function isInputSchema(input: JsonValue | undefined): boolean {
  if (input === undefined || input === null) return true;
  return isJsonObject(input) && (input["type"] ?? "object") === "object";
}

function cleanNode(node: JsonObject | boolean, place: Place): JsonObject | boolean {
  const { depth, budget } = place;
  if (typeof node === "boolean" || depth >= MAX_DEPTH) {
    budget.spend(SMALL_BYTES);
    return node === false ? node : true;
  }
  budget.spend(SMALL_BYTES, 1);
  const below = { ...place, depth: depth + 1 };
  const cleaned: Record<string, JsonValue> = {};
  // The known keywords are looked up: how many others there are costs nothing.
  for (const [keyword, clean] of CLEANERS) {
    const value = keywordOf(node, keyword);
    const copy = value === undefined ? undefined : clean(value, below);
    if (copy === undefined) continue;
    budget.spend(keyword.length + SMALL_BYTES);
    cleaned[keyword] = copy;
  }
  const referred = followReference(node["$ref"], below);
  if (referred === undefined) return cleaned;
  if (Object.keys(cleaned).length === 0) return referred;
  const rest = Array.isArray(cleaned["allOf"]) ? cleaned["allOf"] : [];
  return { ...cleaned, allOf: [...rest, referred] };
}

function anything({ budget }: Place): true {
  budget.spend(SMALL_BYTES);
  return true;
}

/** Returns what a reference within the schema refers to; undefined for another one. A circle ends: anything goes there. */
function followReference(
  reference: JsonValue | undefined,
  place: Place,
): JsonObject | boolean | undefined {
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return undefined;
  place.budget.spendText(reference);
  if (place.path.includes(reference)) return anything(place);
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

/**
 * Returns the value of a keyword. What older drafts and other dialects spell otherwise is rewritten, and a pattern
 * becomes a part of the description.
 */
function keywordOf(node: JsonObject, keyword: string): JsonValue | undefined {
  const value = Object.hasOwn(node, keyword) ? node[keyword] : undefined;
  switch (keyword) {
    case "description": {
      const { pattern } = node;
      if (typeof pattern !== "string") return value;
      const shown = `Pattern: ${cutText(pattern, MAX_PATTERN_SHOWN)}`;
      return typeof value === "string" ? `${value} ${shown}`.trim() : shown;
    }
    case "type":
      return node["nullable"] === true && typeof value === "string" ? [value, "null"] : value;
    case "prefixItems":
      return Array.isArray(node["items"]) ? node["items"] : value;
    case "items":
      return Array.isArray(value) ? node["additionalItems"] : value;
    default:
      return value;
  }
}

function copyText(value: string, budget: CleanBudget): string {
  budget.spendText(value);
  return cleanText(value);
}

/** Returns the names of a list without repetitions; undefined where it is no list of names. */
function copyNames(value: JsonValue, budget: CleanBudget): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const copies = new Set<string>();
  for (const name of value) {
    budget.spend(1);
    if (typeof name !== "string") return undefined;
    copies.add(copyText(name, budget));
  }
  return [...copies];
}

function copyValue(value: JsonValue, depth: number, budget: CleanBudget): JsonValue | undefined {
  if (typeof value === "string") return copyText(value, budget);
  budget.spend(typeof value === "number" ? String(value).length : SMALL_BYTES);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_DEPTH) return undefined;
  const copyItem = (item: JsonValue) => copyValue(item, depth + 1, budget) ?? null;
  if (!Array.isArray(value)) return mapEntries(value as JsonObject, budget, copyItem);
  budget.spend(value.length);
  return value.map(copyItem);
}

/** Unlike an assignment, it makes a property even of the name `__proto__`. */
function mapEntries(
  value: JsonObject,
  budget: CleanBudget,
  change: (item: JsonValue) => JsonValue,
): JsonObject {
  const given = Object.keys(value);
  budget.spend(given.length * 2);
  return Object.fromEntries(
    given.map((name) => [copyText(name, budget), change(value[name] ?? null)]),
  );
}

function isType(value: JsonValue): boolean {
  return Array.isArray(value)
    ? value.length > 0 &&
        value.length <= TYPES.size &&
        new Set(value).size === value.length &&
        value.every((one) => TYPES.has(one))
    : TYPES.has(value);
}
