import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import type { DatasetTable, Manifest } from "../backup-format.ts";
import { BackupError } from "../backup-format.ts";
import {
  describeTables,
  isDatasetTable,
  quoteName,
  quoteTable,
  type TableDescription,
  toDatasetDescription,
} from "../snapshot/describe-tables.ts";

/** Timeout of a restore's statement; checking all references of a large table is one statement. */
export const LOAD_STATEMENT_TIMEOUT_MS = 3_600_000;

export interface TableLoad {
  /** Inserts rows of a table, given as a part of the backup holds them. */
  readonly insert: (table: string, lines: Buffer) => Promise<void>;
  /**
   * Makes the indexes of datasets, restores the references, each of them checked, and the positions of the sequences.
   * @param onStep called after each of them.
   */
  readonly finish: (onStep: () => void) => Promise<void>;
}

/**
 * Begins to load a backup's rows into freshly migrated tables, within one transaction. References between tables are
 * dropped in the meantime, so that the order of the rows does not matter.
 */
export async function beginTableLoad(transaction: Db, manifest: Manifest): Promise<TableLoad> {
  const run = (statement: string) => transaction.execute(sql.raw(statement));
  await run(`set local statement_timeout = ${LOAD_STATEMENT_TIMEOUT_MS}`);
  await run(`set local idle_in_transaction_session_timeout = ${LOAD_STATEMENT_TIMEOUT_MS}`);
  await run("set local datestyle = 'ISO, YMD'");
  await run("set local intervalstyle = 'postgres'");
  const inserts = await prepareInserts(transaction, manifest);
  // Rows that a migration inserted are in the backup, in their state at that time.
  const migrated = manifest.tables.filter(({ name }) => !isDatasetTable(name));
  await run(`truncate ${migrated.map(({ name }) => quoteName(name)).join(", ")}`);
  for (const dataset of manifest.datasets) await run(createTable(dataset));
  for (const { table, name, bound } of manifest.partitions) {
    await run(`create table ${quoteName(name)} partition of ${quoteName(table)} ${bound}`);
  }
  const references = await listReferences(transaction);
  for (const { table, name } of references) {
    await run(`alter table ${table} drop constraint ${quoteName(name)}`);
  }
  return {
    async insert(table, lines) {
      const insert = inserts.get(table);
      if (insert === undefined) throw unknownTable(table);
      const rows = `[${lines.toString("utf8").trimEnd().replaceAll("\n", ",")}]`;
      await transaction.execute(
        sql`${sql.raw(insert)} from json_array_elements(${rows}::text::json) as line`,
      );
    },
    async finish(onStep) {
      for (const dataset of manifest.datasets) {
        for (const index of dataset.indexes) {
          await run(createIndex(dataset, index));
          onStep();
        }
      }
      for (const { table, name, definition } of references) {
        await run(`alter table ${table} add constraint ${quoteName(name)} ${definition}`);
        onStep();
      }
      for (const { table, column, last } of manifest.sequences) {
        await transaction.execute(
          sql`select setval(pg_get_serial_sequence(${quoteName(table)}, ${column}), ${last}::bigint)`,
        );
        onStep();
      }
    },
  };
}

/** Returns, by table, the beginning of the statement that inserts its rows. */
async function prepareInserts(
  transaction: Db,
  manifest: Manifest,
): Promise<ReadonlyMap<string, string>> {
  const datasets = manifest.datasets.map((table) => toDatasetDescription({ ...table, version: 0 }));
  const present = new Map(
    [...(await describeTables(transaction)), ...datasets].map(
      (table) => [table.name, table] as const,
    ),
  );
  return new Map(
    manifest.tables.map(({ name, columns }) => {
      const table = present.get(name);
      if (table === undefined) throw unknownTable(name);
      return [name, insertInto(table, columns)];
    }),
  );
}

function insertInto({ name, columns }: TableDescription, given: readonly string[]): string {
  const types = new Map(columns.map((column) => [column.name, column.type]));
  const values = given.map((column, index) => {
    const type = types.get(column);
    if (type === undefined) throw unknownTable(`${name}.${column}`);
    return `(line ->> ${index})::${type}`;
  });
  const names = given.map(quoteName).join(", ");
  return `insert into ${quoteTable(name)} (${names}) overriding system value select ${values.join(", ")}`;
}

function createTable({ name, columns }: DatasetTable): string {
  const list = columns.map((column) => `${quoteName(column.name)} ${column.type}`);
  return `create table ${quoteTable(`datasets.${name}`)} (${list.join(", ")})`;
}

function createIndex(
  { name }: DatasetTable,
  { columns, isUnique, present }: DatasetTable["indexes"][number],
): string {
  const kind = isUnique ? "unique index" : "index";
  const condition = present === null ? "" : ` where ${quoteName(present)} is not null`;
  return `create ${kind} on ${quoteTable(`datasets.${name}`)} (${columns.map(quoteName).join(", ")})${condition}`;
}

function unknownTable(name: string): BackupError {
  return new BackupError(
    `The backup holds ${name}, which this release does not know. Restore it with the release that made it.`,
  );
}

interface Reference {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
}

async function listReferences(transaction: Db): Promise<readonly Reference[]> {
  const rows = await transaction.execute<{ table: string; name: string; definition: string }>(sql`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint
    where contype = 'f' and conparentid = 0 and connamespace = to_regnamespace(quote_ident(current_schema()))
    order by 1, 2`);
  return [...rows];
}
