import type { Database } from "node-sqlite3-wasm";
import type { Expression } from "../row-process.ts";
import { ProgramFailure } from "../row-work.ts";
import {
  openDatabase,
  prepareSelect,
  quoted,
  readSelect,
  type Select,
  sqlFailure,
} from "./sql-database.ts";

/** Columns that are not known before there are rows are added as the statement names them. */
const COLUMNS_MAX = 500;
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
      database.exec(`CREATE TABLE ${quoted(table)} ("$" BLOB)`);
    }
    prepareWithColumns(database, select, tables);
  } finally {
    for (const table of tables) database.exec(`DROP TABLE IF EXISTS ${quoted(table)}`);
    database.close();
  }
}

/** Adds the columns that the SELECT names to tables of which none are known. Throws a `ProgramFailure`. */
export function prepareWithColumns(
  database: Database,
  select: Select,
  tables: readonly string[],
): void {
  for (let added = 0; added < COLUMNS_MAX; added += 1) {
    const thrown = preparing(database, select);
    if (thrown === undefined) return;
    const [, owner, column] = MISSING.exec(messageOf(thrown)) ?? [];
    if (column === undefined) {
      // Which of several inputs has a column is known only when there are rows.
      if (/^ambiguous column name/.test(messageOf(thrown))) return;
      throw withTables(thrown, tables);
    }
    const wanted = owner === undefined ? tables.slice(0, 1) : tables;
    if (!wanted.some((table) => addColumn(database, table, column))) return;
  }
}

function preparing(database: Database, select: Select): unknown {
  try {
    prepareSelect(database, select).finalize();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

/** Adds the column unless the table has it. Of several tables, all get it: an alias may mean any of them. */
function addColumn(database: Database, table: string, column: string): boolean {
  try {
    database.exec(`ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(column)}`);
    return true;
  } catch {
    return false;
  }
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
