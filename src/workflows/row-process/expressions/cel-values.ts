import { Duration, UnsignedInt } from "@marcbachmann/cel-js/evaluator";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import { RowFault, setField } from "../row-work.ts";

const DEPTH_MAX = 100;

/**
 * A JSON object as expressions see it: its own fields, whatever their names are, and nothing that JavaScript adds.
 * Nested objects are wrapped when they are read.
 */
export class CelObject extends Map<unknown, unknown> {
  readonly fields: JsonObject;

  constructor(fields: JsonObject) {
    super();
    this.fields = fields;
  }

  override get size(): number {
    return Object.keys(this.fields).length;
  }

  override has(key: unknown): boolean {
    return typeof key === "string" && Object.hasOwn(this.fields, key);
  }

  override get(key: unknown): unknown {
    if (!this.has(key)) return undefined;
    const value = this.fields[key as string];
    if (typeof value !== "object" || value === null) return value;
    // The map's own entries are those that were wrapped before.
    const known = super.get(key);
    if (known !== undefined) return known;
    const wrapped = toCel(value);
    super.set(key, wrapped);
    return wrapped;
  }

  override keys(): MapIterator<unknown> {
    return Object.keys(this.fields).values() as MapIterator<unknown>;
  }

  override *entries(): MapIterator<[unknown, unknown]> {
    for (const key of Object.keys(this.fields)) yield [key, this.get(key)];
  }

  override *values(): MapIterator<unknown> {
    for (const key of Object.keys(this.fields)) yield this.get(key);
  }

  override [Symbol.iterator](): MapIterator<[unknown, unknown]> {
    return this.entries();
  }
}
// The library knows a map by its constructor.
Object.defineProperty(CelObject.prototype, "constructor", { value: Map });

/** Numbers stay doubles, which is what JSON has; `json()` and rows are wrapped alike. */
export function toCel(value: JsonValue | undefined): unknown {
  if (typeof value !== "object" || value === null) return value ?? null;
  if (isJsonObject(value)) return new CelObject(value);
  const isFlat = value.every((item) => typeof item !== "object" || item === null);
  return isFlat ? value : value.map(toCel);
}

/** Returns the JSON of a result. Throws a `RowFault` for what JSON cannot have. */
export function fromCel(value: unknown, depth = 0): JsonValue {
  if (depth > DEPTH_MAX)
    throw new RowFault("expression_failed", "The result is nested too deeply.");
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new RowFault(
        "expression_failed",
        "The result is no number: it was divided by zero, or is too large.",
      );
    case "bigint":
      return fromInteger(value);
    case "undefined":
      return null;
    default:
      return value === null ? null : fromObject(value, depth);
  }
}

function fromInteger(value: bigint): JsonValue {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

function fromObject(value: unknown, depth: number): JsonValue {
  if (value instanceof CelObject) return value.fields;
  if (Array.isArray(value)) return value.map((item) => fromCel(item, depth + 1));
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Duration) return value.toString();
  if (value instanceof UnsignedInt) return fromInteger(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  const entries = value instanceof Map ? [...value] : Object.entries(value as object);
  const isPlain = value instanceof Map || Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain) return String(value);
  const fields: Record<string, JsonValue> = {};
  for (const [name, item] of entries) setField(fields, String(name), fromCel(item, depth + 1));
  return fields;
}
