import type { Database, Statement } from "node-sqlite3-wasm";
import type { JsonValue } from "../../../lib/json/json.ts";
import { fieldOf, type InputLine, ProgramFailure, parseRow } from "../row-work.ts";
import { PLACEHOLDER, quoted } from "./sql-database.ts";

/** What SQLite allows. */
const COLUMNS_MAX = 2_000;

/**
 * Fills a table with rows: its columns are all the fields that any row has, without a type, so that each value stays
 * what it is. True and false become 1 and 0, lists and objects their JSON. Returns the columns; without
 * any, the table has the placeholder.
 */
export async function loadTable(
  database: Database,
  table: string,
  batches: AsyncIterable<readonly InputLine[]>,
): Promise<readonly string[]> {
  const columns: string[] = [];
  const known = new Set<string>();
  const lowered = new Map<string, string>();
  let insert: Statement | undefined;
  const add = (name: string) => {
    const twin = lowered.get(name.toLowerCase());
    if (twin !== undefined) throw sameName(table, twin, name);
    if (columns.length >= COLUMNS_MAX) throw tooManyColumns(table);
    const change = columns.length === 0 ? `RENAME COLUMN ${quoted(PLACEHOLDER)} TO` : "ADD COLUMN";
    database.exec(`ALTER TABLE ${quoted(table)} ${change} ${quoted(name)}`);
    lowered.set(name.toLowerCase(), name);
    known.add(name);
    columns.push(name);
    insert?.finalize();
    insert = undefined;
  };
  database.exec(`CREATE TABLE ${quoted(table)} (${quoted(PLACEHOLDER)} BLOB)`);
  database.exec("BEGIN");
  try {
    for await (const lines of batches) {
      for (const { text } of lines) {
        const row = parseRow(text);
        for (const name in row) if (!known.has(name)) add(name);
        insert ??= database.prepare(insertInto(table, Math.max(1, columns.length)));
        insert.run(columns.length === 0 ? [null] : columns.map((name) => cell(fieldOf(row, name))));
      }
    }
  } finally {
    insert?.finalize();
  }
  database.exec("COMMIT");
  return columns;
}

function insertInto(table: string, count: number): string {
  return `INSERT INTO ${quoted(table)} VALUES (${Array(count).fill("?").join(",")})`;
}

function cell(value: JsonValue | undefined): string | number | boolean | null {
  if (typeof value !== "object" || value === null) return value ?? null;
  return JSON.stringify(value);
}

function sameName(table: string, first: string, second: string): ProgramFailure {
  return new ProgramFailure(
    "sql_columns",
    `The rows of '${table}' have the fields '${first}' and '${second}', which SQL cannot tell apart. Rename one with a select step.`,
  );
}

function tooManyColumns(table: string): ProgramFailure {
  return new ProgramFailure(
    "sql_columns",
    `The rows of '${table}' have more than ${COLUMNS_MAX} different fields. Choose fewer with a select step.`,
  );
}
