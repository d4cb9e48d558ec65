import type { DatasetColumn } from "../../db/tables/datasets.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { checkValue } from "./check-value.ts";
import { MAX_KEY_BYTES } from "./columns.ts";
import type { DatasetRowFault } from "./datasets.ts";

/** Bytes of one row's values as JSON. */
const MAX_ROW_BYTES = 1024 * 1024;
const SHOWN_CHARACTERS = 40;

/** Values in the order of the columns, as the database reads them. */
export type CheckedRow = readonly JsonValue[];
type Fault = Omit<DatasetRowFault, "row">;

/** Checks rows one by one for a table of these columns. */
export class RowCheck {
  readonly #columns: readonly DatasetColumn[];
  readonly #names: ReadonlySet<string>;
  readonly #key: readonly string[];

  constructor(columns: readonly DatasetColumn[], key: readonly string[]) {
    this.#columns = columns;
    this.#names = new Set(columns.map(({ name }) => name));
    this.#key = key;
  }

  check(row: JsonObject): { readonly values: CheckedRow } | { readonly fault: Fault } {
    for (const name of Object.keys(row)) {
      if (!this.#names.has(name)) return { fault: unknownColumn(name) };
    }
    const values: JsonValue[] = [];
    for (const column of this.#columns) {
      const found = this.#valueOf(row, column);
      if ("fault" in found) return found;
      values.push(found.value);
    }
    const fault = this.#faultOf(values);
    return fault === undefined ? { values } : { fault };
  }

  #valueOf(
    row: JsonObject,
    { name, type }: DatasetColumn,
  ): { value: JsonValue } | { fault: Fault } {
    const given = (Object.hasOwn(row, name) ? row[name] : null) ?? null;
    if (given === null) {
      const isKey = this.#key.includes(name);
      const message = "is part of the key and has no value";
      return isKey ? { fault: { column: name, message } } : { value: null };
    }
    const checked = checkValue(given, type);
    if ("value" in checked) return checked;
    const message = `expected ${checked.expected}, received ${shown(given)}`;
    return { fault: { column: name, message } };
  }

  /** What is wrong with the row as a whole. */
  #faultOf(values: CheckedRow): Fault | undefined {
    let keyBytes = 0;
    for (const [index, { name }] of this.#columns.entries()) {
      if (this.#key.includes(name)) keyBytes += Buffer.byteLength(String(values[index]));
    }
    if (keyBytes > MAX_KEY_BYTES) {
      const message = `the row's key has more than ${MAX_KEY_BYTES} bytes`;
      return { column: this.#key[0] ?? null, message };
    }
    return isTooLarge(values)
      ? { column: null, message: `the row has more than ${MAX_ROW_BYTES} bytes` }
      : undefined;
  }
}

function isTooLarge(values: CheckedRow): boolean {
  let least = 0;
  let hasJson = false;
  for (const value of values) {
    if (typeof value === "string") least += value.length;
    else if (typeof value === "object" && value !== null) hasJson = true;
  }
  // A character is at least one byte, and at most six in JSON.
  if (!hasJson && least * 6 < MAX_ROW_BYTES) return false;
  return Buffer.byteLength(JSON.stringify(values)) > MAX_ROW_BYTES;
}

export function unknownColumn(name: string): Fault {
  const column = name.slice(0, SHOWN_CHARACTERS);
  return { column, message: "is not a column of the dataset; leave it out or add the column" };
}

/** At most the beginning of a value: whoever sent it may read it. */
function shown(value: JsonValue): string {
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
