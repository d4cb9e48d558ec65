import {
  isObject,
  type JsonSchema,
  type JsonValue,
  resolve,
  type Shape,
  shapeOf,
} from "./json-schema.ts";
import { limitsOf } from "./schema-value.ts";

/** An argument as people read it. */
export interface SchemaLine {
  readonly path: string;
  readonly name: string;
  readonly depth: number;
  /** `text`, `list of numbers`, `"a" or "b"`. */
  readonly type: string;
  readonly isRequired: boolean;
  readonly description: string;
  readonly limits: readonly string[];
}

const MAX_DEPTH = 6;
const MAX_LINES = 300;
const MAX_PATH = 200;
const MAX_TYPE_DEPTH = 3;
const CHOICES_SHOWN = 12;

/** Lists what a schema of an object takes, argument by argument, each followed by what is within it. */
export function describeSchema(schema: JsonSchema): readonly SchemaLine[] {
  const lines: SchemaLine[] = [];
  addFields(lines, { schema, root: schema, depth: 0, path: "" });
  return lines;
}

interface Place {
  readonly schema: JsonSchema;
  readonly root: JsonSchema;
  readonly depth: number;
  readonly path: string;
}

function addFields(lines: SchemaLine[], { schema, root, depth, path }: Place): void {
  const shape = shapeOf(schema, root);
  if (depth > MAX_DEPTH) return;
  // What holds itself without a name between ends by its path.
  if (path.length <= MAX_PATH) {
    const within = `${path}/`;
    for (const held of heldBy(shape)) addFields(lines, { schema: held, root, depth, path: within });
  }
  if (shape.kind !== "object") return;
  for (const { name, schema: field, isRequired } of shape.fields) {
    if (lines.length >= MAX_LINES) return;
    const { description } = resolve(field, root);
    lines.push({
      path: `${path}/${lines.length}`,
      name,
      depth,
      type: typeText(shapeOf(field, root), root),
      isRequired,
      description: typeof description === "string" ? description : "",
      limits: limitsOf(field, root),
    });
    addFields(lines, { schema: field, root, depth: depth + 1, path: `${path}/${name}` });
  }
}

/** The schemas of what has no name of its own. */
function heldBy(shape: Shape): readonly JsonSchema[] {
  if (shape.kind === "list") return [shape.item];
  if (shape.kind === "map") return [shape.value];
  return shape.kind === "variants" ? shape.variants : [];
}

function typeText(shape: Shape, root: JsonSchema, depth = 0): string {
  const text = depth > MAX_TYPE_DEPTH ? "…" : typeWithoutNull(shape, root, depth + 1);
  return shape.isNullable ? `${text} or null` : text;
}

function typeWithoutNull(shape: Shape, root: JsonSchema, depth: number): string {
  const textOf = (schema: JsonSchema) => typeText(shapeOf(schema, root), root, depth);
  switch (shape.kind) {
    case "number":
      return shape.isInteger ? "whole number" : "number";
    case "boolean":
      return "true or false";
    case "choice":
      return choiceText(shape.values);
    case "list":
      return `list of ${textOf(shape.item)}`;
    case "map":
      return `names with ${textOf(shape.value)}`;
    case "variants":
      return shape.variants.map(textOf).join(", or ");
    case "json":
      return "any JSON";
    default:
      return shape.kind;
  }
}

function choiceText(values: readonly JsonValue[]): string {
  const shown = values.slice(0, CHOICES_SHOWN).map((value) => JSON.stringify(value));
  const more = values.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(" or ");
}

/** Whether a schema says nothing of its arguments, so that any object is taken. */
export function takesAnything(schema: JsonSchema): boolean {
  const { properties, additionalProperties: more } = schema;
  return (!isObject(properties) || Object.keys(properties).length === 0) && more !== false;
}
