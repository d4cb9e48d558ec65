import { z } from "zod";
import type { JsonObject } from "../../lib/json/json.ts";
import type { SavedConnection } from "../../tools/connections/connection.ts";
import { unpackRows } from "../rows/pack-rows.ts";
import type { Row } from "../rows/row.ts";
import { connectionFailure, connectionFaults, findConnection } from "./shared/saved-connection.ts";
import { defineStepKind, type FieldFault, type StepContext, type StepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** Rows of one transaction. */
const BATCH_ROWS = 500;
/** Databases limit the size of a statement: MySQL to 4 MiB in old configurations. */
const BATCH_BYTES = 2 * 1024 * 1024;
const TIMEOUT_MAX_MS = 600_000;
const NAME = z
  .string()
  .min(1)
  .max(63)
  .regex(/^[^\0]+$/, "a name without a zero byte");

const settings = z
  .strictObject({
    connection: z.string().min(1).max(200).describe("The name of a saved connection."),
    table: z
      .union([NAME, z.tuple([NAME, NAME])])
      .describe("The table, or a list of its schema and its name. Names are quoted."),
    columns: z
      .record(NAME, z.string().min(1).max(200))
      .refine((columns) => Object.keys(columns).length > 0, "at least one column")
      .describe("For each column of the table the field of the row that it takes."),
    key: z
      .array(NAME)
      .max(16)
      .default([])
      .describe("Columns of a unique key: a row with the values of another one replaces it."),
  })
  .refine(({ columns, key }) => key.every((name) => Object.hasOwn(columns, name)), {
    path: ["key"],
    message: "each of them must be in 'columns'",
  });
type Settings = z.output<typeof settings>;

/**
 * `write_sql`: rows go in transactions of 500 at most. After a failure the step writes all of them again, so only a
 * `key` makes rows that are there once.
 */
export function writeSqlStep(services: StepServices): StepKind {
  const { connections } = services;
  return defineStepKind<Settings>({
    kind: "write_sql",
    group: "sink",
    label: "Write to a database",
    help: "Inserts the rows into a table of a saved PostgreSQL or MySQL connection, or updates them by a key; passes them on.",
    example: {
      connection: "warehouse",
      table: "invoices",
      columns: { number: "invoice_number", total: "total" },
      key: ["number"],
    },
    schema: settings,
    administratorsOnly: true,
    check: async ({ connection }) => [
      ...connectionFaults(connections, connection),
      ...sqliteFaults(connections.saved.find(connection)),
    ],
    run: (context) => run(services, context),
  });
}

function sqliteFaults(connection: SavedConnection | undefined): readonly FieldFault[] {
  if (connection?.kind !== "sqlite") return [];
  const message = "Rows are not written to SQLite files. Name a PostgreSQL or MySQL connection.";
  return [{ field: "connection", message }];
}

async function run(
  { connections }: StepServices,
  context: StepContext<Settings>,
): Promise<undefined> {
  const { settings: given, inputs, signal, isTest, tell } = context;
  const connection = findConnection(connections, given.connection);
  const output = context.output();
  let rows = 0;
  for (const input of inputs) {
    for await (const chunk of input.chunks()) {
      signal.throwIfAborted();
      rows += chunk.rows;
      if (!isTest) {
        for (const batch of batchesOf(await unpackRows(chunk), given)) {
          await write(connections, connection, batch, context);
        }
      }
      await output.chunk(chunk);
    }
  }
  if (isTest) tell(`would write ${rows} rows to ${[given.table].flat().join(".")}`);
  return undefined;
}

async function write(
  connections: StepServices["connections"],
  connection: SavedConnection,
  rows: readonly JsonObject[],
  { settings: { table, columns, key }, signal, timeMs }: StepContext<Settings>,
): Promise<void> {
  try {
    await connections.write(connection, {
      ...{ table: [table].flat(), columns: Object.keys(columns), key, rows, signal },
      timeoutMs: Math.min(timeMs, TIMEOUT_MAX_MS),
    });
  } catch (thrown) {
    throw connectionFailure(thrown);
  }
}

/** The rows as the table's columns, of rows with one key the last. A key with a null is no other one's in a database. */
function* batchesOf(rows: readonly Row[], { columns, key }: Settings): Generator<JsonObject[]> {
  const pairs = Object.entries(columns);
  let batch = new Map<string, JsonObject>();
  let bytes = 0;
  for (const [index, row] of rows.entries()) {
    const mapped = Object.fromEntries(pairs.map(([column, field]) => [column, row[field] ?? null]));
    const size = JSON.stringify(mapped).length;
    if (batch.size === BATCH_ROWS || (batch.size > 0 && bytes + size > BATCH_BYTES)) {
      yield [...batch.values()];
      batch = new Map();
      bytes = 0;
    }
    const values = key.map((column) => mapped[column] ?? null);
    const isUnique = values.length === 0 || values.includes(null);
    const name = isUnique ? `${index}` : JSON.stringify(values);
    batch.delete(name);
    batch.set(name, mapped);
    bytes += size;
  }
  if (batch.size > 0) yield [...batch.values()];
}
