import type { JsonValue } from "../../../lib/json/json.ts";
import { isJsonObject } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import { fieldOf } from "../row-work.ts";

/**
 * Returns a text that is the same for equal values of these fields, in any order of an object's own. A missing field is
 * null; the number 1 and the text "1" differ.
 */
export function keyOf(row: Row, fields: readonly string[], withNames = false): string {
  const [only] = fields;
  if (fields.length === 1 && only !== undefined && !withNames) return textOf(fieldOf(row, only));
  const parts = fields.map((name) => {
    const text = textOf(fieldOf(row, name));
    return withNames ? `${JSON.stringify(name)}:${text}` : text;
  });
  return parts.join(",");
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return JSON.stringify(ordered(value ?? null));
}

function ordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map((item) => ordered(item as JsonValue));
  if (!isJsonObject(value)) return value;
  const names = Object.keys(value).sort();
  return names.map((name) => [name, ordered(value[name] ?? null)]);
}

/**
 * The order of values: null first, then false and true, numbers, texts by their characters' codes, then lists and
 * objects by their JSON.
 */
export function compareValues(left: JsonValue, right: JsonValue): number {
  const rank = rankOf(left) - rankOf(right);
  if (rank !== 0) return rank;
  if (typeof left === "object" && left !== null) {
    const [leftText, rightText] = [textOf(left), textOf(right)];
    return compare(leftText, rightText);
  }
  return compare(left as string, right as string);
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function rankOf(value: JsonValue): number {
  if (value === null) return 0;
  switch (typeof value) {
    case "boolean":
      return 1;
    case "number":
      return 2;
    case "string":
      return 3;
    default:
      return 4;
  }
}
