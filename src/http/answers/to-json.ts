import { z } from "@hono/zod-openapi";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";

/** The record's spelling of a field name: `last_four` becomes `lastFour`. */
type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/**
 * The record that a schema shows: with its own names, with dates for times, and without literals, which never change.
 */
export type RecordOf<Schema> =
  Schema extends z.ZodReadonly<infer Inner>
    ? Frozen<z.output<Inner>>
    : Schema extends z.ZodObject<infer Shape>
      ? FieldsOf<Omit<Shape, LiteralNames<Shape> | OptionalNames<Shape>>> &
          Partial<FieldsOf<Pick<Shape, OptionalNames<Shape>>>>
      : Schema extends z.ZodArray<infer Item>
        ? readonly RecordOf<Item>[]
        : Schema extends z.ZodNullable<infer Inner>
          ? RecordOf<Inner> | null
          : Schema extends z.ZodUnion<readonly [infer Inner extends z.ZodType, z.ZodNull]>
            ? RecordOf<Inner> | null
            : Schema extends z.ZodOptional<infer Inner>
              ? RecordOf<Inner> | undefined
              : z.output<Schema>;

type FieldsOf<Shape> = {
  readonly [Name in keyof Shape as Camel<Name & string>]: RecordOf<Shape[Name]>;
};
type LiteralNames<Shape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodLiteral ? Name : never;
}[keyof Shape];
type OptionalNames<Shape> = {
  [Name in keyof Shape]: Shape[Name] extends z.ZodOptional ? Name : never;
}[keyof Shape];

/** A record is read-only at any depth. */
type Frozen<Value> = Value extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : Value extends object
    ? { readonly [Name in keyof Value]: Frozen<Value[Name]> }
    : Value;

/**
 * Renders a record as JSON, field by field of its schema. `last_four` is the record's `lastFour`, a literal is the
 * schema's value, and a codec encodes its text. Fields outside the schema are not shown. A `readonly()` part is shown
 * unchanged.
 */
export function toJson<Schema extends z.ZodObject>(
  schema: Schema,
  record: RecordOf<Schema>,
): JsonObject {
  return objectOf(schema, record as Readonly<Record<string, unknown>>);
}

/** Converts a client's body to the names of records: `ip_allow` becomes `ipAllow`. Only the outermost names change. */
export function toRecord<Body extends object>(
  body: Body,
): { [Name in keyof Body as Camel<Name & string>]: Body[Name] } {
  const entries = Object.entries(body).map(([name, value]) => [camel(name), value]);
  return Object.fromEntries(entries) as ReturnType<typeof toRecord<Body>>;
}

type Field = readonly [name: string, property: string, schema: z.core.$ZodType];

/** Names are translated once per schema, because a page may have a thousand records. */
const fieldsOfSchemas = new WeakMap<z.ZodObject, readonly Field[]>();

function fieldsOf(schema: z.ZodObject): readonly Field[] {
  const known = fieldsOfSchemas.get(schema);
  if (known !== undefined) return known;
  const fields = Object.entries(schema.shape).map(
    ([name, field]): Field => [name, camel(name), field],
  );
  fieldsOfSchemas.set(schema, fields);
  return fields;
}

function objectOf(schema: z.ZodObject, record: Readonly<Record<string, unknown>>): JsonObject {
  const fields = fieldsOf(schema);
  return Object.fromEntries(
    fields.map(([name, property, field]) => [name, shownValue(field, record[property])]),
  );
}

function shownValue(schema: z.core.$ZodType, value: unknown): JsonValue | undefined {
  if (schema instanceof z.ZodLiteral) return schema.value as JsonValue;
  if (value === undefined || value === null) return value;
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) {
    return shownValue(schema.unwrap(), value);
  }
  if (schema instanceof z.ZodUnion) {
    const [inner, ...others] = schema.options;
    const isOrNull = others.length === 1 && others[0] instanceof z.ZodNull;
    return inner !== undefined && isOrNull ? shownValue(inner, value) : (value as JsonValue);
  }
  if (schema instanceof z.ZodObject) return objectOf(schema, value as Record<string, unknown>);
  if (schema instanceof z.ZodArray) {
    return (value as readonly unknown[]).map((item) => shownValue(schema.element, item) ?? null);
  }
  if (schema instanceof z.ZodCodec) return z.encode(schema, value as never) as JsonValue;
  return value as JsonValue;
}

function camel(name: string): string {
  return name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}
