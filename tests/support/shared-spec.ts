import { existsSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

const FOLDER = resolve(import.meta.dirname, "../../../shared/specs");

/** A schema as OpenAPI writes it, as far as shapes are checked by it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
}

/** The schemas of a vendor's published definition, by name; undefined, and one line, where the folder is missing. */
export function readSharedSchemas(file: string): Readonly<Record<string, Schema>> | undefined {
  const path = resolve(FOLDER, file);
  if (!existsSync(path)) {
    // biome-ignore lint/suspicious/noConsole: says which checks are left out
    console.info(`../shared is missing: shapes are not compared with ${file}.`);
    return undefined;
  }
  return JSON.parse(readFileSync(path, "utf8")).components.schemas;
}

/** What a value has against its schema: unknown keys and wrong types, each with its path. */
export function shapeFaults(
  value: unknown,
  schema: Schema,
  schemas: Readonly<Record<string, Schema>>,
  at = "$",
): string[] {
  const own = schema.$ref ? schemas[schema.$ref.split("/").at(-1) ?? ""] : schema;
  if (!own) return [`${at}: no schema`];
  if (Array.isArray(value)) {
    const { items } = own;
    if (!items) return [`${at}: is a list`];
    return value.flatMap((item, index) => shapeFaults(item, items, schemas, `${at}[${index}]`));
  }
  if (typeof value !== "object" || value === null) return scalarFaults(value, own, at);
  const { properties } = own;
  if (!properties) return own.type === "object" ? [] : [`${at}: is an object`];
  return Object.entries(value).flatMap(([key, inner]) => {
    const property = properties[key];
    return property
      ? shapeFaults(inner, property, schemas, `${at}.${key}`)
      : [`${at}.${key}: unknown`];
  });
}

function scalarFaults(value: unknown, { enum: known, type }: Schema, at: string): string[] {
  if (known && !known.includes(String(value))) return [`${at}: ${String(value)} is unknown`];
  const found = typeof value === "number" ? ["number", "integer"] : [typeof value];
  return type !== undefined && found.includes(type) ? [] : [`${at}: ${typeof value}, not ${type}`];
}
