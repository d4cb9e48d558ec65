/** JSON Schemas as forms see them. What has no simple field is JSON. */

export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };
export type JsonSchema = Readonly<Record<string, unknown>>;

export interface SchemaField {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

interface Common {
  /** Null is allowed beside the rest. */
  readonly isNullable: boolean;
}

/** What kind of field a schema needs. */
export type Shape = Common &
  (
    | { readonly kind: "text"; readonly isShort: boolean; readonly format: string | undefined }
    | { readonly kind: "number"; readonly isInteger: boolean }
    | { readonly kind: "boolean" }
    | { readonly kind: "choice"; readonly values: readonly JsonValue[] }
    | { readonly kind: "list"; readonly item: JsonSchema; readonly most: number }
    | { readonly kind: "object"; readonly fields: readonly SchemaField[] }
    | { readonly kind: "map"; readonly value: JsonSchema }
    | { readonly kind: "variants"; readonly variants: readonly JsonSchema[] }
    | { readonly kind: "json" }
  );

/** More fields than these are no form. */
const MAX_FIELDS = 200;
const MAX_CHOICES = 500;
const MAX_REFERENCES = 16;
/** Texts that may be longer get a field of several lines. */
const SHORT_TEXT = 200;

/** Returns the kind of field for a schema. `root` has the definitions that it refers to. */
export function shapeOf(schema: JsonSchema, root: JsonSchema): Shape {
  return shapeWithin(schema, root, 0);
}

function shapeWithin(schema: JsonSchema, root: JsonSchema, depth: number): Shape {
  if (depth > MAX_REFERENCES) return { kind: "json", isNullable: false };
  const resolved = resolve(schema, root);
  const { types, isNullable } = typesOf(resolved);
  const shape =
    choiceOf(resolved) ?? variantsOf(resolved, root, depth + 1) ?? shapeOfType(resolved, types);
  return { ...shape, isNullable: isNullable || shape.isNullable };
}

/** Follows `$ref`, and joins what stands beside it or in an `allOf`. */
export function resolve(schema: JsonSchema, root: JsonSchema): JsonSchema {
  let found = schema;
  for (let step = 0; step < MAX_REFERENCES; step += 1) {
    const { $ref: reference, allOf, ...own } = found;
    if (typeof reference === "string") {
      found = { ...pointedAt(reference, root), ...own };
    } else if (Array.isArray(allOf) && allOf.every(isObject)) {
      const parts = allOf.map((part) => pointed(part, root));
      found = parts.reduce<JsonSchema>(joined, own);
    } else {
      return found;
    }
  }
  return {};
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function pointed(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const { $ref: reference, ...own } = schema;
  return typeof reference === "string" ? { ...pointedAt(reference, root), ...own } : schema;
}

function pointedAt(reference: string, root: JsonSchema): JsonSchema {
  if (!reference.startsWith("#")) return {};
  let place: unknown = root;
  for (const word of reference.slice(1).split("/").slice(1)) {
    const name = word.replaceAll("~1", "/").replaceAll("~0", "~");
    place = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
  }
  return isObject(place) ? place : {};
}

function joined(one: JsonSchema, other: JsonSchema): JsonSchema {
  const properties = { ...objectIn(one, "properties"), ...objectIn(other, "properties") };
  const required = [...listIn(one, "required"), ...listIn(other, "required")];
  return { ...one, ...other, properties, required };
}

function objectIn(schema: JsonSchema, name: string): JsonSchema {
  const value = schema[name];
  return isObject(value) ? value : {};
}

function listIn(schema: JsonSchema, name: string): readonly unknown[] {
  const value = schema[name];
  return Array.isArray(value) ? value : [];
}

function typesOf({ type }: JsonSchema) {
  const all = [type].flat().filter((one): one is string => typeof one === "string");
  return { types: all.filter((one) => one !== "null"), isNullable: all.includes("null") };
}

function choiceOf(schema: JsonSchema): Shape | undefined {
  if (Object.hasOwn(schema, "const")) {
    return { kind: "choice", values: [schema["const"] as JsonValue], isNullable: false };
  }
  const values = schema["enum"];
  if (!Array.isArray(values) || values.length === 0 || values.length > MAX_CHOICES) return;
  const others = values.filter((value) => value !== null);
  return { kind: "choice", values: others, isNullable: others.length < values.length };
}

/** Alternatives; with a single one beside null it is that one. */
function variantsOf(schema: JsonSchema, root: JsonSchema, depth: number): Shape | undefined {
  const given = schema["anyOf"] ?? schema["oneOf"];
  if (!Array.isArray(given) || !given.every(isObject) || given.length === 0) return;
  const variants = given.filter((one) => resolve(one, root)["type"] !== "null");
  const isNullable = variants.length < given.length;
  const [only] = variants;
  if (only === undefined) return { kind: "json", isNullable };
  if (variants.length > 1) return { kind: "variants", variants, isNullable };
  const shape = shapeWithin(only, root, depth);
  return { ...shape, isNullable: isNullable || shape.isNullable };
}

function shapeOfType(schema: JsonSchema, types: readonly string[]): Shape {
  const json = { kind: "json", isNullable: false } as const;
  const type = types[0] ?? (isObject(schema["properties"]) ? "object" : undefined);
  if (types.length > 1) {
    const variants = types.map((one) => ({ ...schema, type: one }));
    return { kind: "variants", variants, isNullable: false };
  }
  switch (type) {
    case "string":
      return textOf(schema);
    case "number":
    case "integer":
      return { kind: "number", isInteger: type === "integer", isNullable: false };
    case "boolean":
      return { kind: "boolean", isNullable: false };
    case "array":
      return listOf(schema);
    case "object":
      return objectOf(schema);
    default:
      return json;
  }
}

function textOf({ maxLength, format, pattern }: JsonSchema): Shape {
  const isShort =
    (typeof maxLength === "number" && maxLength <= SHORT_TEXT) ||
    typeof format === "string" ||
    typeof pattern === "string";
  return {
    kind: "text",
    isShort,
    format: typeof format === "string" ? format : undefined,
    isNullable: false,
  };
}

function listOf(schema: JsonSchema): Shape {
  const { items, prefixItems, maxItems } = schema;
  if (!isObject(items) || prefixItems !== undefined) return { kind: "json", isNullable: false };
  const most = typeof maxItems === "number" ? maxItems : Number.POSITIVE_INFINITY;
  return { kind: "list", item: items, most, isNullable: false };
}

function objectOf(schema: JsonSchema): Shape {
  const properties = objectIn(schema, "properties");
  const required = new Set(listIn(schema, "required"));
  const { additionalProperties: more } = schema;
  const fields = Object.entries(properties).map(([name, field]) => ({
    name,
    schema: isObject(field) ? field : {},
    isRequired: required.has(name),
  }));
  if (fields.length > MAX_FIELDS) return { kind: "json", isNullable: false };
  if (fields.length > 0 || more === false) return { kind: "object", fields, isNullable: false };
  return isObject(more) && Object.keys(more).length > 0
    ? { kind: "map", value: more, isNullable: false }
    : { kind: "json", isNullable: false };
}
