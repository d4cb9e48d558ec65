import type { JsonValue } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import { fieldOf } from "../row-work.ts";
import { compareDecimals, decimalOf, isNumeric } from "./exact-numbers.ts";
import { compareValues } from "./keys.ts";

export interface SortField {
  readonly field: string;
  readonly order?: "asc" | "desc";
}

/**
 * The order of rows by some of their fields. A field whose values are numbers, texts that are numbers, as decimals and
 * large integers are, or null, is compared by number. Which ones these are is known when all rows have been read.
 */
export class RowOrder {
  readonly #by: readonly SortField[];
  readonly #areNumbers: boolean[];
  /** Another number once a field has turned out to be none of numbers: rows that were in order may be no more. */
  version = 0;

  constructor(by: readonly SortField[]) {
    this.#by = by;
    this.#areNumbers = by.map(() => true);
  }

  /** The values that are compared, which count for what their fields are. */
  keysOf(row: Row): readonly JsonValue[] {
    return this.#by.map(({ field }, index) => {
      const value = fieldOf(row, field) ?? null;
      if (this.#areNumbers[index] === true && value !== null && !isNumeric(value)) {
        this.#areNumbers[index] = false;
        this.version += 1;
      }
      return value;
    });
  }

  /** Negative, 0 or positive, as for `sort`. */
  compare(left: readonly JsonValue[], right: readonly JsonValue[]): number {
    for (const [index, { order }] of this.#by.entries()) {
      const compare = this.#areNumbers[index] === true ? compareNumbers : compareValues;
      const result = compare(left[index] ?? null, right[index] ?? null);
      if (result !== 0) return order === "desc" ? -result : result;
    }
    return 0;
  }
}

/** Null is first. */
function compareNumbers(left: JsonValue, right: JsonValue): number {
  if (left === right) return 0;
  if (left === null || right === null) return left === null ? -1 : 1;
  const [rounded, other] = [Number(left), Number(right)];
  if (rounded !== other) return rounded < other ? -1 : 1;
  const [exact, otherExact] = [decimalOf(left), decimalOf(right)];
  return exact === undefined || otherExact === undefined ? 0 : compareDecimals(exact, otherExact);
}
