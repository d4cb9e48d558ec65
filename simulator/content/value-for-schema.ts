import { type Json, numberOf, objectOf, objectsOf, stringsOf } from "../json.ts";

const DEPTH_LIMIT = 8;
const ITEMS_LIMIT = 16;

export interface SchemaContext {
  /** The schema that `$ref` refers to. */
  readonly root: Json;
  /** Words of the prompt for text properties, in order. Each is used once, except the last one, which remains. */
  readonly words: string[];
  readonly prompt: string;
  readonly random: () => number;
}

const formats: Readonly<Record<string, string>> = {
  date: "2026-01-15",
  "date-time": "2026-01-15T09:30:00Z",
  time: "09:30:00Z",
  email: "someone@example.com",
  uri: "https://example.com/",
  uuid: "6f1c2c1e-8d5a-4b7e-9c3f-2a1b0c9d8e7f",
};

/** Returns a value that matches the JSON schema, made of the prompt's words if possible. */
export function valueForSchema(schema: Json, context: SchemaContext, depth = 0): unknown {
  if (depth > DEPTH_LIMIT) return null;
  const given = givenValue(schema, context);
  if (given !== undefined) return given;
  const chosen = chosenSchema(schema, context.root);
  if (chosen) return valueForSchema(chosen, context, depth + 1);
  switch (typeOf(schema)) {
    case "object":
      return objectForSchema(schema, context, depth);
    case "array":
      return arrayForSchema(schema, context, depth);
    case "integer":
    case "number":
      return numberForSchema(schema, context);
    case "boolean":
      return context.random() < 0.5;
    case "null":
      return null;
    default:
      return textForSchema(schema, context);
  }
}

function givenValue(schema: Json, { prompt, random }: SchemaContext): unknown {
  if ("const" in schema) return schema["const"];
  const options: unknown = schema["enum"];
  if (Array.isArray(options) && options.length > 0) {
    const named = options.find((option) => typeof option === "string" && prompt.includes(option));
    return named ?? options[Math.floor(random() * options.length)];
  }
  return schema["default"];
}

function chosenSchema(schema: Json, root: Json): Json | undefined {
  const ref = schema["$ref"];
  if (typeof ref === "string") return resolveRef(ref, root);
  const [first] = objectsOf(schema["anyOf"] ?? schema["oneOf"]);
  if (first) return first;
  const all = objectsOf(schema["allOf"]);
  return all.length > 0 ? Object.assign({}, ...all) : undefined;
}

function resolveRef(ref: string, root: Json): Json | undefined {
  const steps = ref.replace(/^#\/?/, "").split("/").filter(Boolean);
  return steps.reduce<Json | undefined>((at, step) => objectOf(at?.[step]), root);
}

function typeOf(schema: Json): string {
  const [type] = stringsOf(schema["type"]);
  if (type) return type;
  return schema["properties"] ? "object" : "string";
}

function objectForSchema(schema: Json, context: SchemaContext, depth: number): Json {
  const properties = objectOf(schema["properties"]) ?? {};
  const required = new Set(stringsOf(schema["required"]));
  const names = Object.keys(properties);
  const wanted = required.size > 0 ? names.filter((name) => required.has(name)) : names;
  return Object.fromEntries(
    wanted.map((name) => [
      name,
      valueForSchema(objectOf(properties[name]) ?? {}, context, depth + 1),
    ]),
  );
}

function arrayForSchema(schema: Json, context: SchemaContext, depth: number): unknown[] {
  const length = Math.min(ITEMS_LIMIT, Math.max(1, numberOf(schema["minItems"]) ?? 1));
  const items = objectOf(schema["items"]) ?? {};
  return Array.from({ length }, () => valueForSchema(items, context, depth + 1));
}

function numberForSchema(schema: Json, { prompt, random }: SchemaContext): number {
  const low = numberOf(schema["minimum"]) ?? 0;
  const high = numberOf(schema["maximum"]) ?? Math.max(100, low);
  const named = (prompt.match(/-?\d+(\.\d+)?/g) ?? []).map(Number);
  const fitting = named.find((number) => number >= low && number <= high);
  const value = fitting ?? low + random() * (high - low);
  return typeOf(schema) === "integer" ? Math.trunc(value) : Number(value.toFixed(2));
}

function textForSchema(schema: Json, { words }: SchemaContext): string {
  const format = formats[String(schema["format"])];
  if (format) return format;
  const word = (words.length > 1 ? words.shift() : words[0]) ?? "example";
  const least = numberOf(schema["minLength"]) ?? 0;
  const most = numberOf(schema["maxLength"]) ?? Math.max(word.length, least);
  return word.padEnd(least, "x").slice(0, most);
}
