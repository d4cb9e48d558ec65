import type { Database, Statement } from "node-sqlite3-wasm";
import type { JsonValue } from "../../../lib/json/json.ts";
import { storableText } from "../../../lib/text/storable-text.ts";
import type { Row } from "../../rows/row.ts";
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
  const folded = new Map<string, string>();
  let insert: Statement | undefined;
  const add = (name: string) => {
    if (name.includes("\0")) throw nulInName(table, name);
    const twin = folded.get(foldCase(name));
    if (twin !== undefined) throw sameName(table, twin, name);
    if (columns.length >= COLUMNS_MAX) throw tooManyColumns(table);
    const change = columns.length === 0 ? `RENAME COLUMN ${quoted(PLACEHOLDER)} TO` : "ADD COLUMN";
    database.exec(`ALTER TABLE ${quoted(table)} ${change} ${quoted(name)}`);
    folded.set(foldCase(name), name);
    known.add(name);
    columns.push(name);
    insert?.finalize();
    insert = undefined;
  };
  database.exec(`CREATE TABLE ${quoted(table)} (${quoted(PLACEHOLDER)} BLOB)`);
  database.exec("BEGIN");
  try {
    for await (const lines of batches) {
      for (const { text, number } of lines) {
        const row = parseRow(text);
        for (const name in row) if (!known.has(name)) add(name);
        insert ??= database.prepare(insertInto(table, Math.max(1, columns.length)));
        insert.run(columns.length === 0 ? [null] : columns.map((name) => cell(row, name, number)));
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

function cell(row: Row, name: string, number: number): string | number | boolean | null {
  const value: JsonValue | undefined = fieldOf(row, name);
  // The library would cut the text there.
  if (typeof value === "string" && value.includes("\0")) throw nulInText(name, number);
  if (typeof value !== "object" || value === null) return value ?? null;
  return JSON.stringify(value);
}

/** As SQLite compares names: `Ä` and `ä` differ. */
function foldCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

function nulInText(name: string, number: number): ProgramFailure {
  return new ProgramFailure(
    "sql_text",
    `The field '${name}' of row ${number} has a NUL character, which SQL cannot take. Remove it with a map step first: row.${name}.replace('\\u0000', '').`,
  );
}

function nulInName(table: string, name: string): ProgramFailure {
  return new ProgramFailure(
    "sql_columns",
    `The rows of '${table}' have the field '${storableText(name)}', whose name has a NUL character, which SQL cannot take. Leave it out with a select step that names the fields to keep.`,
  );
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
