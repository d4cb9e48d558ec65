import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import type { RowWork } from "../row-program.ts";
import { setField } from "../row-work.ts";
import { prepareWithColumns } from "../sql/check-select.ts";
import { loadTable } from "../sql/load-table.ts";
import {
  openDatabase,
  PLACEHOLDER,
  prepareSelect,
  readSelect,
  type Select,
  sqlFailure,
} from "../sql/sql-database.ts";

/** Yields the rows of one SELECT over the inputs, each a table of its name. */
export async function* queryRows({ settings, inputs, lines, outputs, folder }: RowWork) {
  const select = readSelect((settings as { select: string }).select);
  const database = openDatabase(folder);
  try {
    const empty: string[] = [];
    const others: string[] = [];
    for (const input of inputs) {
      const columns = await loadTable(database, input.name, lines(input));
      if (columns.length === 0) empty.push(input.name);
      others.push(...columns);
    }
    // Without a row nobody knows the columns: whatever the SELECT names is there.
    if (empty.length > 0) prepareWithColumns(database, select, { tables: empty, others });
    database.exec("PRAGMA query_only = ON");
    let number = 0;
    for (const found of runSelect(select, database)) {
      number += 1;
      const row: Record<string, unknown> = {};
      for (const name of Object.keys(found)) {
        if (name !== PLACEHOLDER) setField(row, name, jsonValue(found[name]));
      }
      outputs.attempt({ text: "{}", number }, () => outputs.push(row as JsonObject));
      if (outputs.isFull) yield;
      if (outputs.isOver) return;
    }
  } finally {
    database.close();
  }
}

function* runSelect(
  select: Select,
  database: ReturnType<typeof openDatabase>,
): Generator<Record<string, unknown>, void> {
  try {
    const prepared = prepareSelect(database, select);
    try {
      for (const row of prepared.iterate()) yield row as Record<string, unknown>;
    } finally {
      prepared.finalize();
    }
  } catch (thrown) {
    // What the consumer throws is not the statement's fault.
    throw isOfSqlite(thrown) ? sqlFailure(thrown) : thrown;
  }
}

function isOfSqlite(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.constructor.name === "SQLite3Error";
}

/** Integers beyond 2^53 come as texts, bytes as base64. */
function jsonValue(value: unknown): JsonValue {
  if (typeof value === "bigint") return String(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  return (value ?? null) as JsonValue;
}
