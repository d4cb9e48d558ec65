import { ServiceError } from "../../core/service-error.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import { BUILT_IN_VIEWS } from "../views/registry.ts";

/** The types that a column may have, with those of the database. */
export const COLUMN_TYPES = {
  text: "text",
  integer: "bigint",
  decimal: "numeric",
  number: "double precision",
  boolean: "boolean",
  date: "date",
  timestamp: "timestamptz",
  json: "jsonb",
} as const satisfies Record<DatasetColumn["type"], string>;
export const COLUMN_TYPE_NAMES = Object.keys(COLUMN_TYPES) as readonly DatasetColumn["type"][];

/** What BI keys name. */
export const DATASET_NAME = /^[a-z][a-z0-9_]{0,62}$/;
/** What is a column of any view, without quotation marks that would change its meaning. */
export const COLUMN_NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;
const NAME_CHARACTERS = 63;
export const MAX_COLUMNS = 500;
export const MAX_KEY_COLUMNS = 5;
/** Of the texts of a row's key together, in UTF-8: an entry of an index is smaller than a third of a page. */
export const MAX_KEY_BYTES = 2_000;

/** Views that are there without a dataset. */
const BUILT_IN: ReadonlySet<string> = new Set(BUILT_IN_VIEWS.map(({ name }) => name));
/** Columns that every table of PostgreSQL has. */
const SYSTEM_COLUMNS: ReadonlySet<string> = new Set([
  "tableoid",
  "xmin",
  "cmin",
  "xmax",
  "cmax",
  "ctid",
]);

/** Throws `invalid_value` for a name that no dataset can have. */
export function checkDatasetName(name: string): void {
  if (!DATASET_NAME.test(name)) {
    throw invalid("name", "must be a-z, 0-9 and _, a letter first, up to 63 characters");
  }
  if (BUILT_IN.has(name)) throw invalid("name", `'${name}' is a built-in table; take another name`);
}

/** Throws `invalid_value` that names the first column or key that no table can have. */
export function checkColumns(columns: readonly DatasetColumn[], key: readonly string[]): void {
  if (columns.length === 0 || columns.length > MAX_COLUMNS) {
    throw invalid("columns", `must be 1 to ${MAX_COLUMNS} columns`);
  }
  const seen = new Set<string>();
  for (const [index, { name }] of columns.entries()) {
    const param = `columns[${index}].name`;
    const fault = columnNameFault(name);
    if (fault !== undefined) throw invalid(param, fault);
    if (seen.has(name.toLowerCase())) throw invalid(param, `'${name}' is a column already`);
    seen.add(name.toLowerCase());
  }
  if (key.length > MAX_KEY_COLUMNS) {
    throw invalid("key", `must be at most ${MAX_KEY_COLUMNS} columns`);
  }
  for (const [index, name] of key.entries()) {
    const param = `key[${index}]`;
    const column = columns.find((known) => known.name === name);
    if (column === undefined) throw invalid(param, `'${name}' is not one of the columns`);
    if (column.type === "json") throw invalid(param, "a json column cannot identify a row");
    if (key.indexOf(name) !== index) throw invalid(param, `'${name}' stands there twice`);
  }
}

function columnNameFault(name: string): string | undefined {
  if (!COLUMN_NAME.test(name)) {
    return "must be letters, digits and _, a letter first, up to 63 characters";
  }
  return SYSTEM_COLUMNS.has(name.toLowerCase())
    ? `'${name}' is a column of the database itself; take another name`
    : undefined;
}

/** Returns a text such as a table's heading as the name of a column; `column` where nothing of it can stay. */
export function toColumnName(heading: string): string {
  const bare = heading
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/^_+|_+$/g, "")
    .slice(0, 60);
  if (bare === "") return "column";
  const name = /^\d/.test(bare) ? `c_${bare}` : bare;
  return SYSTEM_COLUMNS.has(name.toLowerCase()) ? `c_${name}` : name;
}

/**
 * Returns names of columns for headings, each different from the others. A heading that can be a name is one, so that no
 * column has a name that is the heading of another column.
 */
export function toColumnNames(headings: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  const take = (name: string): string | undefined => {
    if (taken.has(name.toLowerCase())) return undefined;
    taken.add(name.toLowerCase());
    return name;
  };
  const fit = headings.map((heading) =>
    columnNameFault(heading) === undefined ? take(heading) : undefined,
  );
  return headings.map((heading, index) => {
    if (fit[index] !== undefined) return fit[index];
    const base = columnNameFault(heading) === undefined ? heading : toColumnName(heading);
    let free = take(base);
    for (let count = 2; free === undefined; count += 1) free = take(numbered(base, count));
    return free;
  });
}

function numbered(base: string, count: number): string {
  return `${base.slice(0, NAME_CHARACTERS - `_${count}`.length)}_${count}`;
}

/** Whether a name can be another one with the number that `toColumnNames` gives to a name that is taken. */
export function isNumbered(name: string, base: string): boolean {
  const [, count] = /_(\d{1,3})$/.exec(name) ?? [];
  return count !== undefined && name.toLowerCase() === numbered(base, Number(count)).toLowerCase();
}

function invalid(param: string, fault: string): ServiceError {
  return new ServiceError("invalid_value", `'${param}' is invalid: ${fault}.`, { param });
}
