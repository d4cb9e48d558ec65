import type { JsonValue } from "../../../lib/json/json.ts";

/** Without zeros in front, and with no more digits than a number keeps. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/;
const DIGITS_MAX = 15;
const BOOLEAN = /^(?:true|false)$/i;

export type ColumnType = "text" | "number" | "boolean";

/**
 * Returns the type of a column whose texts are known as far as the sample goes. It is a number only if all its texts
 * are plain numbers: `007` and `12345678901234567` are names of things.
 */
export function columnType(texts: readonly string[]): ColumnType {
  const filled = texts.filter((text) => text !== "");
  if (filled.length === 0) return "text";
  if (filled.every(isNumber)) return "number";
  return filled.every((text) => BOOLEAN.test(text)) ? "boolean" : "text";
}

/** A later text that is not of its column's type stays a text; an empty cell is null. */
export function typedValue(text: string, type: ColumnType): JsonValue {
  if (text === "") return null;
  if (type === "number" && isNumber(text)) return Number(text);
  if (type === "boolean" && BOOLEAN.test(text)) return text.toLowerCase() === "true";
  return text;
}

function isNumber(text: string): boolean {
  return NUMBER.test(text) && text.replaceAll(/[-.]/g, "").length <= DIGITS_MAX;
}

/** Returns names for the columns: empty ones are numbered, and equal ones as well. */
export function columnNames(texts: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  // Counting goes on where it ended, so that thousands of equal names take no time.
  const numbers = new Map<string, number>();
  return texts.map((text, index) => {
    const base = text.trim().replaceAll(/\s+/g, " ") || `column_${index + 1}`;
    let name = base;
    let number = numbers.get(base) ?? 1;
    while (taken.has(name)) {
      number += 1;
      name = `${base}_${number}`;
    }
    numbers.set(base, number);
    taken.add(name);
    return name;
  });
}
