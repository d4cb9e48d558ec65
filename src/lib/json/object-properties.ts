import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** Keywords with one schema, a list of schemas, or schemas by name. Values such as `default` are no schemas. */
const WITH_SCHEMA: ReadonlySet<string> = new Set([
  ...["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"],
  ...["unevaluatedProperties", "unevaluatedItems", "additionalItems"],
]);
const WITH_LIST: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "prefixItems"]);
const WITH_NAMES: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"],
]);

/**
 * Returns a JSON schema whose properties and alternatives are all objects: `true` becomes `{}`, `false` becomes
 * `{"not": {}}`, which mean the same. Not every reader of schemas takes the short forms there. A schema without them is
 * returned itself.
 */
export function withObjectProperties(schema: JsonObject): JsonObject {
  return mapMembers(schema, (value, keyword) => {
    if (WITH_SCHEMA.has(keyword)) return within(value);
    if (WITH_LIST.has(keyword) && Array.isArray(value)) return mapList(value);
    if (WITH_NAMES.has(keyword) && isJsonObject(value)) return mapMembers(value, toObject);
    return value;
  });
}

function toObject(schema: JsonValue): JsonValue {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  return within(schema);
}

function within(value: JsonValue): JsonValue {
  return isJsonObject(value) ? withObjectProperties(value) : value;
}

function mapList(list: readonly JsonValue[]): readonly JsonValue[] {
  const mapped = list.map(toObject);
  return mapped.some((item, at) => item !== list[at]) ? mapped : list;
}

/** Returns the object itself when no member changes. */
function mapMembers(
  object: JsonObject,
  change: (value: JsonValue, name: string) => JsonValue,
): JsonObject {
  let isChanged = false;
  const members = Object.entries(object).map(([name, value]) => {
    const changed = value === undefined ? value : change(value, name);
    isChanged ||= changed !== value;
    return [name, changed] as const;
  });
  return isChanged ? Object.fromEntries(members) : object;
}
