import { isObject, type JsonSchema, type JsonValue, type Shape, shapeOf } from "./json-schema.ts";
import { fieldIn, variantOf } from "./schema-value.ts";

/** Places in a value, as the server names them: `values.revenue.op`, `by[0]`. The empty path is the whole. */

export function pathOfField(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}

export function pathOfItem(path: string, index: number): string {
  return `${path}[${index}]`;
}

/**
 * Returns the path of the field that shows what a fault is about: its own, or that of the field that holds it. It is
 * the empty path where no field does.
 */
export function shownPath(
  path: string,
  given: { readonly schema: JsonSchema; readonly value: JsonValue | undefined },
): string {
  const root = given.schema;
  let place = { schema: root, value: given.value };
  let shown = "";
  let rest = path;
  while (rest !== "") {
    const step = stepInto(rest, shapeIn(place, root), place.value);
    if (step === undefined) break;
    shown = step.isItem ? `${shown}${step.text}` : pathOfField(shown, step.text);
    rest = rest.slice(step.length);
    place = step;
  }
  return shown;
}

/** The shape of a place, that of the alternative which its value is of. */
function shapeIn(
  { schema, value }: { readonly schema: JsonSchema; readonly value: JsonValue | undefined },
  root: JsonSchema,
): Shape {
  const shape = shapeOf(schema, root);
  if (shape.kind !== "variants") return shape;
  return shapeOf(shape.variants[variantOf(value, shape.variants, root)] ?? {}, root);
}

function stepInto(rest: string, shape: Shape, value: JsonValue | undefined) {
  if (shape.kind === "list") {
    const [text, index] = /^\.?\[?(\d+)\]?/.exec(rest) ?? [];
    const item = Array.isArray(value) ? (value[Number(index)] as JsonValue | undefined) : undefined;
    if (text === undefined || item === undefined) return undefined;
    const shown = { isItem: true, text: `[${index}]`, length: text.length };
    return { ...shown, schema: shape.item, value: item };
  }
  const from = rest.startsWith(".") ? 1 : 0;
  const names = namesIn(shape, value);
  // Names may hold dots: the longest that fits is meant.
  const found = names
    .filter(([name]) => isWhole(rest.slice(from), name))
    .sort(([one], [other]) => other.length - one.length)[0];
  if (found === undefined) return undefined;
  const [name, schema] = found;
  const shown = { isItem: false, text: name, length: from + name.length };
  return { ...shown, schema, value: fieldIn(value, name) };
}

function namesIn(
  shape: Shape,
  value: JsonValue | undefined,
): ReadonlyArray<readonly [string, JsonSchema]> {
  if (shape.kind === "object") return shape.fields.map(({ name, schema }) => [name, schema]);
  if (shape.kind !== "map" || !isObject(value)) return [];
  return Object.keys(value).map((name) => [name, shape.value]);
}

function isWhole(rest: string, name: string): boolean {
  return (
    rest.startsWith(name) && (rest.length === name.length || /[.[]/.test(rest[name.length] ?? ""))
  );
}
