import type { JsonValue } from "../../../lib/json.ts";
import type { Row } from "../../rows/row.ts";
import { fieldOf, ProgramFailure, RowFault } from "../row-work.ts";
import { compareValues, keyOf } from "./keys.ts";

/** What is asked of each group: `field` is unset for `count` of rows. */
export interface ValueSettings {
  readonly op: string;
  readonly field?: string | undefined;
}

/** The value of one field over the rows of one group. Null is left out of every one but `first`, `last` and `list`. */
export interface Measure {
  /** Returns the bytes that it holds more than before, as far as they are known. */
  readonly add: (row: Row) => number;
  readonly value: () => JsonValue;
}

type Make = (field: string) => Measure;

const BYTES_PER_CHARACTER = 2;
const ITEM_BYTES = 40;

const MEASURES: Readonly<Record<string, Make>> = {
  sum: (field) => {
    const sum = createSum(field);
    return { add: sum.add, value: () => (sum.count() === 0 ? null : sum.total()) };
  },
  avg: (field) => {
    const sum = createSum(field);
    return { add: sum.add, value: () => (sum.count() === 0 ? null : sum.total() / sum.count()) };
  },
  min: (field) => createBest(field, (left, right) => compareValues(left, right) < 0),
  max: (field) => createBest(field, (left, right) => compareValues(left, right) > 0),
  first: (field) => {
    let found: JsonValue | undefined;
    return {
      add(row) {
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
      add(row) {
        found = fieldOf(row, field) ?? null;
        return 0;
      },
      value: () => found,
    };
  },
  list: (field) => {
    const items: JsonValue[] = [];
    return {
      add(row) {
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
      add(row) {
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
    add(row) {
      if (field === undefined || fieldOf(row, field) !== null) count += 1;
      return 0;
    },
    value: () => count,
  };
}

/** Keeps what rounding loses (Kahan and Neumaier), so that cents add up. */
function createSum(field: string) {
  let sum = 0;
  let lost = 0;
  let count = 0;
  return {
    add(row: Row) {
      const value = fieldOf(row, field);
      if (value === null || value === undefined) return 0;
      const number = numberOf(value as JsonValue, field);
      const next = sum + number;
      lost += Math.abs(sum) >= Math.abs(number) ? sum - next + number : number - next + sum;
      sum = next;
      count += 1;
      return 0;
    },
    count: () => count,
    total: () => sum + lost,
  };
}

/** A text that is a number counts as one: CSV and integers beyond 2^53 have them. */
function numberOf(value: JsonValue, field: string): number {
  if (typeof value === "number") return value;
  const isNumber = typeof value === "string" && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(value);
  if (isNumber) return Number(value);
  throw new RowFault(
    "not_a_number",
    `The field '${field}' is no number, so it cannot be summed up. Convert it with a map step first.`,
  );
}

function createBest(
  field: string,
  isBetter: (left: JsonValue, right: JsonValue) => boolean,
): Measure {
  let best: JsonValue = null;
  return {
    add(row) {
      const value = fieldOf(row, field) ?? null;
      if (value !== null && (best === null || isBetter(value, best))) best = value;
      return 0;
    },
    value: () => best,
  };
}

function bytesOf(value: JsonValue): number {
  if (typeof value === "string") return ITEM_BYTES + value.length * BYTES_PER_CHARACTER;
  if (typeof value !== "object" || value === null) return ITEM_BYTES;
  return ITEM_BYTES + JSON.stringify(value).length * BYTES_PER_CHARACTER;
}
