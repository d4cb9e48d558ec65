import type { JsonValue } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import { fieldOf, ProgramFailure, RowFault } from "../row-work.ts";
import { compareDecimals, type Decimal, decimalOf, ExactSum } from "./exact-numbers.ts";
import { compareValues, keyOf } from "./keys.ts";

/** What is asked of each group: `field` is unset for `count` of rows. */
export interface ValueSettings {
  readonly op: string;
  readonly field?: string | undefined;
}

/** The value of one field over the rows of one group. Null is left out of every one but `first`, `last` and `list`. */
export interface Measure {
  /** Reads what it needs of a row, and changes nothing. Throws a `RowFault` for a row that it cannot take. */
  readonly read: (row: Row) => Add;
  readonly value: () => JsonValue;
}

/** Adds what was read. Returns the bytes that the measure holds more than before, as far as they are known. */
export type Add = () => number;

type Make = (field: string) => Measure;

const NOTHING: Add = () => 0;

const BYTES_PER_CHARACTER = 2;
const ITEM_BYTES = 40;
/** JSON has an exponent in numbers of this size and above. */
const EXPONENT_MIN = 1e21;

const MEASURES: Readonly<Record<string, Make>> = {
  sum: (field) => createSum(field, ({ total, hasTexts }) => (hasTexts ? total : totalOf(total))),
  avg: (field) => createSum(field, ({ total, count }) => Number(total) / count),
  min: (field) => createBest(field, -1),
  max: (field) => createBest(field, 1),
  first: (field) => {
    let found: JsonValue | undefined;
    return {
      read: (row) => () => {
        if (found !== undefined) return 0;
        found = fieldOf(row, field) ?? null;
        return bytesOf(found);
      },
      value: () => found ?? null,
    };
  },
  last: (field) => {
    let found: JsonValue = null;
    return {
      read: (row) => () => {
        found = fieldOf(row, field) ?? null;
        return 0;
      },
      value: () => found,
    };
  },
  list: (field) => {
    const items: JsonValue[] = [];
    return {
      read: (row) => () => {
        const value = fieldOf(row, field) ?? null;
        items.push(value);
        return bytesOf(value);
      },
      value: () => items,
    };
  },
  count_distinct: (field) => {
    const seen = new Set<string>();
    return {
      read: (row) => () => {
        if (fieldOf(row, field) === null) return 0;
        const key = keyOf(row, [field]);
        if (seen.has(key)) return 0;
        seen.add(key);
        return ITEM_BYTES + key.length * BYTES_PER_CHARACTER;
      },
      value: () => seen.size,
    };
  },
};

/** `count` without a field counts rows. */
export function createMeasure({ op, field }: ValueSettings): Measure {
  if (op === "count") return createCount(field);
  const make = Object.hasOwn(MEASURES, op) ? MEASURES[op] : undefined;
  if (make === undefined || field === undefined)
    throw new ProgramFailure("invalid_value", `The value '${op}' needs a field.`);
  return make(field);
}

function createCount(field: string | undefined): Measure {
  let count = 0;
  return {
    read: (row) => () => {
      if (field === undefined || fieldOf(row, field) !== null) count += 1;
      return 0;
    },
    value: () => count,
  };
}

interface Summed {
  readonly total: string;
  readonly count: number;
  /** A number was a text, as decimals and integers beyond 2^53 are: as a JSON number the sum would lose digits. */
  readonly hasTexts: boolean;
}

function createSum(field: string, result: (summed: Summed) => JsonValue): Measure {
  const sum = new ExactSum();
  let count = 0;
  let hasTexts = false;
  let longest = 0;
  const add = (value: JsonValue, number: Decimal): number => {
    sum.add(number);
    count += 1;
    if (typeof value !== "string") return 0;
    hasTexts = true;
    const grown = Math.max(0, value.length - longest);
    longest += grown;
    return grown;
  };
  return {
    read(row) {
      const value = fieldOf(row, field) ?? null;
      if (value === null) return NOTHING;
      const number = numberOf(value, field);
      return () => add(value, number);
    },
    value: () => (count === 0 ? null : result({ total: String(sum), count, hasTexts })),
  };
}

/**
 * The total of numbers that were none in texts. Beyond 2^53 it would be rounded, so it is a text there, as such an
 * integer of a row is. Numbers that are written with an exponent are rounded from the start.
 */
function totalOf(total: string): JsonValue {
  const value = Number(total);
  const size = Math.abs(value);
  const isNumber = size <= Number.MAX_SAFE_INTEGER || size >= EXPONENT_MIN;
  return isNumber && Number.isFinite(value) ? value : total;
}

function numberOf(value: JsonValue, field: string): Decimal {
  const number = decimalOf(value);
  if (number !== undefined) return number;
  throw new RowFault(
    "not_a_number",
    `The field '${field}' is no number, so it cannot be summed up. Convert it with a map step first.`,
  );
}

/**
 * The smallest value for the sign -1, the largest for 1; of equal ones the first. Values that all are numbers, or texts
 * that are, compare as numbers: decimals are texts. With any other value among them all compare as when sorted.
 */
function createBest(field: string, sign: 1 | -1): Measure {
  let best: JsonValue = null;
  /** The best by number; undefined once there was a value that is none. */
  let numeric: { readonly value: JsonValue; readonly number: Decimal } | null | undefined = null;
  const takeNumber = (value: JsonValue, number: Decimal | undefined): number => {
    if (numeric === undefined || number === undefined) {
      numeric = undefined;
      return 0;
    }
    if (numeric !== null && compareDecimals(number, numeric.number) * sign <= 0) return 0;
    const grown = bytesOf(value) - bytesOf(numeric?.value ?? null);
    numeric = { value, number };
    return grown;
  };
  const add = (value: JsonValue, number: Decimal | undefined): number => {
    const grown = takeNumber(value, number);
    if (best !== null && compareValues(value, best) * sign <= 0) return grown;
    const before = bytesOf(best);
    best = value;
    return grown + bytesOf(value) - before;
  };
  return {
    read(row) {
      const value = fieldOf(row, field) ?? null;
      if (value === null) return NOTHING;
      const number = numeric === undefined ? undefined : decimalOf(value);
      return () => add(value, number);
    },
    value: () => numeric?.value ?? best,
  };
}

function bytesOf(value: JsonValue): number {
  if (typeof value === "string") return ITEM_BYTES + value.length * BYTES_PER_CHARACTER;
  if (typeof value !== "object" || value === null) return ITEM_BYTES;
  return ITEM_BYTES + JSON.stringify(value).length * BYTES_PER_CHARACTER;
}
