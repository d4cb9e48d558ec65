import type { Database } from "node-sqlite3-wasm";
import type { Expression } from "../row-process.ts";
import { ProgramFailure } from "../row-work.ts";
import {
  openDatabase,
  PLACEHOLDER,
  prepareSelect,
  quoted,
  readSelect,
  type Select,
  sqlFailure,
} from "./sql-database.ts";

/** Columns that are not known before there are rows are added as the statement names them. */
const COLUMNS_MAX = 500;
const MISSING_IN_JOIN = /^cannot join using column (.+) - column not present in both tables$/;
/** With `*` this depends on columns that are not known. */
const COUNTS_DIFFER =
  / has \d+ values for \d+ columns$|^sub-select returns \d+ columns - |same number of result columns$/;
const AMBIGUOUS = /^ambiguous column name/;
const MISSING = /^no such column: (?:(.+)\.)?(.+?)(?: - should this be .*)?$/;

/** Checks one SELECT against tables without rows. Throws a `ProgramFailure`. */
export function checkSelect(
  { text, tables }: Extract<Expression, { kind: "sql" }>,
  folder: string,
): void {
  const select = readSelect(text);
  const database = openDatabase(folder);
  try {
    for (const table of tables) {
      database.exec(`DROP TABLE IF EXISTS ${quoted(table)}`);
      database.exec(`CREATE TABLE ${quoted(table)} (${quoted(PLACEHOLDER)} BLOB)`);
    }
    prepareWithColumns(database, select, { tables });
  } finally {
    for (const table of tables) database.exec(`DROP TABLE IF EXISTS ${quoted(table)}`);
    database.close();
  }
}

/** Tables of which no column is known, in the order of the inputs. */
interface Unknown {
  readonly tables: readonly string[];
  /** The columns of the other tables. */
  readonly others?: readonly string[];
}

/**
 * Adds the columns that the SELECT names to tables of which none are known. Where the number of columns matters and the
 * SELECT takes all of them (`*`), they get those of the others until it fits. Throws a `ProgramFailure`.
 */
export function prepareWithColumns(
  database: Database,
  select: Select,
  { tables, others = [] }: Unknown,
): void {
  const spare = [...others];
  const takesAll = select.text.includes("*");
  for (let added = 0; added < COLUMNS_MAX; added += 1) {
    const thrown = preparing(database, select);
    if (thrown === undefined) return;
    const message = messageOf(thrown);
    if (takesAll && COUNTS_DIFFER.test(message)) {
      if (!addNext(database, tables, spare)) return;
      continue;
    }
    const needed = missingColumn(message);
    if (needed === undefined) throw withTables(thrown, tables);
    if (needed === "unknown" || !addColumns(database, tables, needed)) return;
  }
}

interface Needed {
  readonly column: string;
  /** An alias may mean any table, and a join has two: all get the column. */
  readonly ofAll: boolean;
}

/** Undefined for what columns do not mend, `unknown` for what is known only when there are rows. */
function missingColumn(message: string): Needed | "unknown" | undefined {
  // Which of several inputs has the column.
  if (AMBIGUOUS.test(message)) return "unknown";
  const [, joined] = MISSING_IN_JOIN.exec(message) ?? [];
  if (joined !== undefined) return { column: joined, ofAll: true };
  const [, owner, column] = MISSING.exec(message) ?? [];
  return column === undefined ? undefined : { column, ofAll: owner !== undefined };
}

/** Adds the next of the spare columns that is new to a table. */
function addNext(database: Database, tables: readonly string[], spare: string[]): boolean {
  for (let column = spare.shift(); column !== undefined; column = spare.shift()) {
    if (addColumns(database, tables, { column, ofAll: true })) return true;
  }
  return false;
}

/** Returns whether a table has got it; otherwise the first one without it gets it. */
function addColumns(
  database: Database,
  tables: readonly string[],
  { column, ofAll }: Needed,
): boolean {
  const add = (table: string) => addColumn(database, table, column);
  return ofAll ? tables.filter(add).length > 0 : tables.some(add);
}

function preparing(database: Database, select: Select): unknown {
  try {
    prepareSelect(database, select).finalize();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** Adds the column unless the table has it. */
function addColumn(database: Database, table: string, column: string): boolean {
  for (const change of [`RENAME COLUMN ${quoted(PLACEHOLDER)} TO`, "ADD COLUMN"]) {
    try {
      database.exec(`ALTER TABLE ${quoted(table)} ${change} ${quoted(column)}`);
      return true;
    } catch {
      // It has no placeholder any more, or it has the column.
    }
  }
  return false;
}

function withTables(thrown: unknown, tables: readonly string[]): ProgramFailure {
  const failure = sqlFailure(thrown);
  if (!/no such table/.test(failure.message)) return failure;
  const names = tables.length === 0 ? "no inputs" : `the inputs ${tables.join(", ")}`;
  return new ProgramFailure(
    failure.code,
    `${failure.message} The tables are ${names}: a step's outputs are named like check_else.`,
    { cause: thrown },
  );
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
