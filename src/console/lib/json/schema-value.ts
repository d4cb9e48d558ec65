import {
  isObject,
  type JsonSchema,
  type JsonValue,
  resolve,
  type Shape,
  shapeOf,
} from "./json-schema.ts";

/** Values of forms that are made from a JSON Schema. */

const MAX_DEPTH = 6;

/**
 * Returns what a form begins with: defaults are left to whoever receives it, so only what is required is there, as far
 * as there is one obvious value.
 */
export function initialValue(
  schema: JsonSchema,
  root: JsonSchema,
  depth = 0,
): JsonValue | undefined {
  if (depth > MAX_DEPTH) return undefined;
  const { default: preset } = resolve(schema, root);
  if (preset !== undefined) return preset as JsonValue;
  const shape = shapeOf(schema, root);
  switch (shape.kind) {
    case "text":
      return "";
    case "boolean":
      return false;
    case "choice":
      return shape.values.length === 1 ? shape.values[0] : undefined;
    case "list":
      return [];
    case "map":
      return {};
    case "object":
      return requiredOf(shape, root, depth);
    case "variants":
      return initialValue(shape.variants[0] ?? {}, root, depth + 1);
    default:
      return undefined;
  }
}

function requiredOf(
  { fields }: Shape & { kind: "object" },
  root: JsonSchema,
  depth: number,
): JsonValue {
  const entries = fields
    .filter(({ isRequired }) => isRequired)
    .map(({ name, schema }) => [name, initialValue(schema, root, depth + 1)] as const)
    .filter((entry): entry is [string, JsonValue] => entry[1] !== undefined);
  return Object.fromEntries(entries);
}

/** Returns the object with a field set, at its old place, or without it for undefined. */
export function withField(
  value: JsonValue | undefined,
  name: string,
  field: JsonValue | undefined,
): JsonValue {
  const before = isObject(value) ? (value as Readonly<Record<string, JsonValue>>) : {};
  if (field !== undefined) return { ...before, [name]: field };
  const { [name]: _, ...rest } = before;
  return rest;
}

export function fieldIn(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? (value[name] as JsonValue) : undefined;
}

/** Returns the index of the alternative that a value is of; 0 where it is of none. */
export function variantOf(
  value: JsonValue | undefined,
  variants: readonly JsonSchema[],
  root: JsonSchema,
): number {
  if (value === undefined) return 0;
  const scores = variants.map((variant) => fitOf(value, variant, root));
  return scores.indexOf(Math.max(...scores));
}

/** Whether a value can be shown in the field of a shape; null can, where the field may be empty. */
export function isOfShape(value: JsonValue, shape: Shape): boolean {
  if (value === null && shape.kind !== "json") return shape.isNullable || shape.kind === "number";
  switch (shape.kind) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number";
    case "boolean":
      return typeof value === "boolean";
    case "choice":
      return shape.values.some((one) => JSON.stringify(one) === JSON.stringify(value));
    case "list":
      return Array.isArray(value);
    case "map":
    case "object":
      return isObject(value);
    default:
      return true;
  }
}

/** How well a value fits a schema, by its type and its fields: 0 is not at all. */
function fitOf(value: JsonValue, schema: JsonSchema, root: JsonSchema): number {
  const shape = shapeOf(schema, root);
  if (shape.kind === "json" || shape.kind === "variants") return 0.5;
  if (!isOfShape(value, shape)) return 0;
  if (shape.kind === "object" && isObject(value)) return 1 + objectFit(value, shape, root);
  return shape.kind === "choice" ? 2 : 1;
}

/** Alternatives of objects differ by a constant field, or by the names of their fields. */
function objectFit(
  value: Readonly<Record<string, unknown>>,
  { fields }: Shape & { kind: "object" },
  root: JsonSchema,
): number {
  let score = 0;
  for (const { name, schema, isRequired } of fields) {
    if (!Object.hasOwn(value, name)) {
      score -= isRequired ? 0.1 : 0;
      continue;
    }
    const { const: constant } = resolve(schema, root);
    if (constant === undefined) score += 0.1;
    else score += constant === value[name] ? 10 : -10;
  }
  return Math.max(score, -0.9);
}

/** What a schema says of its values in words, such as `1 to 200` and `at most 64 characters`. */
export function limitsOf(schema: JsonSchema, root: JsonSchema): readonly string[] {
  const found = resolve(schema, root);
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, pattern, format } = found;
  const words = [
    range(minimum, maximum, ""),
    ...(typeof exclusiveMinimum === "number" ? [`above ${exclusiveMinimum}`] : []),
    ...(typeof exclusiveMaximum === "number" ? [`below ${exclusiveMaximum}`] : []),
    range(
      found["minLength"] === 1 ? undefined : found["minLength"],
      found["maxLength"],
      "characters",
    ),
    range(found["minItems"], found["maxItems"], "items"),
    ...(typeof format === "string" ? [format] : []),
    ...(typeof pattern === "string" ? [`matches ${pattern}`] : []),
    ...(found["default"] === undefined ? [] : [`default ${JSON.stringify(found["default"])}`]),
  ];
  return words.filter((text): text is string => text !== undefined);
}

function range(from: unknown, to: unknown, unit: string): string | undefined {
  const least = typeof from === "number" ? from.toLocaleString("en-GB") : undefined;
  // Generators write the largest whole number for "any".
  const most = typeof to === "number" && to < 2 ** 52 ? to.toLocaleString("en-GB") : undefined;
  const text = rangeText(least, most);
  return text === undefined || unit === "" ? text : `${text} ${unit}`;
}

function rangeText(least: string | undefined, most: string | undefined): string | undefined {
  if (least === undefined) return most === undefined ? undefined : `at most ${most}`;
  if (most === undefined) return `at least ${least}`;
  return least === most ? `exactly ${most}` : `${least} to ${most}`;
}
