import { isJsonObject, type JsonObject, type JsonValue } from "../../../lib/json/json.ts";
import { type CleanBudget, type CleanLimits, createCleanBudget, TooLarge } from "./clean-budget.ts";
import { cutText } from "./clean-text.ts";
import {
  type Copying,
  copyNames,
  copyText,
  copyValue,
  MAX_DEPTH,
  mapEntries,
  SMALL_BYTES,
} from "./copy-values.ts";
import { followPointer } from "./follow-pointer.ts";
import { loosenSchema } from "./loosen-schema.ts";

/** Of one schema. */
const LIMITS: CleanLimits = { bytes: 65_536, nodes: 5_000 };
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
interface Place extends Copying {
  readonly root: JsonObject;
  /** The references that led here. */
  readonly path: readonly string[];
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
const anyValue: Clean = (value, place) => copyValue(value, place);
/** A value that others are compared with is whole, or there is none: one that is cut would refuse what is equal to it. */
const comparedValue: Clean = (value, place) => {
  const before = place.losses.count;
  const copy = copyValue(value, place);
  return place.losses.count === before ? copy : undefined;
};

/**
 * The keywords that are kept, with how. Left out are `$id`, `$anchor` and the like; `pattern` and `patternProperties`,
 * which can take a validator hours; `uniqueItems`, which compares everything with everything. The tool server checks
 * them itself. References are replaced by what they refer to. What refuses more where a part of it checks less goes too.
 */
const KEYWORDS: Readonly<Record<string, Clean>> = {
  type: (value) => (isType(value) ? value : undefined),
  title: text,
  description: text,
  format: text,
  default: anyValue,
  const: comparedValue,
  enum: (value, place) =>
    Array.isArray(value) && value.length > 0 && value.length <= MAX_ENUM
      ? comparedValue(value, place)
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
  dependentRequired: (value, place) =>
    isJsonObject(value)
      ? mapEntries(value, place.budget, (item) => names(item, place) ?? lost(place, []))
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
/** What may check something at the tool server, and not here; and `nullable`, by which the type accepts more. */
const UNCHECKED: readonly string[] = [
  ...["pattern", "patternProperties", "uniqueItems", "format", "dependencies", "nullable"],
  ...["$dynamicRef", "$recursiveRef"],
];

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
    const place: Place = { root: input, depth: 0, path: [], budget, losses: { count: 0 } };
    const cleaned = cleanNode(input, place);
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
  if (typeof node === "boolean") {
    budget.spend(SMALL_BYTES);
    return node;
  }
  if (depth >= MAX_DEPTH) return anything(place);
  budget.spend(SMALL_BYTES, 1);
  const below = { ...place, depth: depth + 1 };
  const { cleaned, lostIn } = cleanKeywords(node, below);
  const before = place.losses.count;
  const referred = followReference(node["$ref"], below);
  if (place.losses.count > before) lostIn.add("$ref");
  if (referred === undefined) return loosenSchema(cleaned, lostIn);
  if (Object.keys(cleaned).length === 0) return referred;
  const loosened = loosenSchema(cleaned, lostIn);
  const rest = Array.isArray(loosened["allOf"]) ? loosened["allOf"] : [];
  return { ...loosened, allOf: [...rest, referred] };
}

/** Returns what is kept of a schema, and the keywords that check less than the tool server does. */
function cleanKeywords(node: JsonObject, place: Place) {
  const { budget, losses } = place;
  const cleaned: Record<string, JsonValue> = {};
  const lostIn = new Set<string>();
  // The known keywords are looked up: how many others there are costs nothing.
  for (const [keyword, clean] of CLEANERS) {
    const value = keywordOf(node, keyword);
    if (value === undefined) continue;
    const before = losses.count;
    const copy = clean(value, place);
    if (copy === undefined) losses.count += 1;
    if (losses.count > before) lostIn.add(keyword);
    if (copy === undefined) continue;
    budget.spend(keyword.length + SMALL_BYTES);
    cleaned[keyword] = copy;
  }
  for (const keyword of UNCHECKED) {
    if ((node[keyword] ?? false) !== false) lostIn.add(lost(place, keyword));
  }
  return { cleaned, lostIn };
}

function anything(place: Place): true {
  place.budget.spend(SMALL_BYTES);
  return lost(place, true);
}

/** Returns what stands for something that checked more. */
function lost<Rest>({ losses }: Place, rest: Rest): Rest {
  losses.count += 1;
  return rest;
}

/** Returns what a reference within the schema refers to; undefined for another one. A circle ends: anything goes there. */
function followReference(
  reference: JsonValue | undefined,
  place: Place,
): JsonObject | boolean | undefined {
  if (reference === undefined) return undefined;
  if (typeof reference !== "string" || !/^#(?:\/|$)/.test(reference)) return lost(place, undefined);
  place.budget.spendText(reference);
  if (place.path.includes(reference)) return anything(place);
  const target = followPointer(place.root, reference);
  if (typeof target !== "boolean" && !isJsonObject(target)) return lost(place, undefined);
  return cleanNode(target, { ...place, path: [...place.path, reference] });
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

function isType(value: JsonValue): boolean {
  return Array.isArray(value)
    ? value.length > 0 &&
        value.length <= TYPES.size &&
        new Set(value).size === value.length &&
        value.every((one) => TYPES.has(one))
    : TYPES.has(value);
}
