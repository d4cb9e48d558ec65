import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../../db/context.ts";
import { migrate } from "../../../db/migrate.ts";
import { inGroups } from "../../../lib/in-groups.ts";
import type { DatasetTable, Manifest, Partition } from "../backup-format.ts";
import { BackupError } from "../backup-format.ts";
import {
  describeTables,
  isDatasetTable,
  listReferences,
  quoteName,
  quoteTable,
  type Reference,
  type TableDescription,
  toDatasetDescription,
} from "../snapshot/describe-tables.ts";
import { markHalf, TABLES_A_TRANSACTION, unmarkHalf } from "./half-database.ts";

/** Timeout of a restore's statement; checking all references of a large table is one statement. */
export const LOAD_STATEMENT_TIMEOUT_MS = 3_600_000;
/** Rows of a partitioned table that one transaction inserts: each may be in another partition. */
const ROWS_A_TRANSACTION = 250;
const NEWLINE = "\n";

export interface TableLoad {
  /** Inserts rows of a table, given as a part of the backup holds them. */
  readonly insert: (table: string, lines: Buffer) => Promise<void>;
  /**
   * Makes the indexes of datasets, and then the database whole, in one transaction: the references, each of them
   * checked, the positions of the sequences, and `last`, which does the rest.
   */
  readonly finish: (last: (transaction: Db) => Promise<void>) => Promise<void>;
}

/**
 * Begins to load a backup's rows into an empty database, which is marked as half until it is finished. Every day is a
 * partition, and every dataset a table: PostgreSQL has no room for the locks of two years of days, or of thousands of
 * datasets, so each step has a transaction of its own.
 * References between tables are dropped in the meantime, so that the order of the rows does not matter.
 * @param onStep called after each step of progress.
 */
export async function beginTableLoad(
  db: Db,
  manifest: Manifest,
  onStep: () => void,
): Promise<TableLoad> {
  const { inserts, partitioned, references } = await inLoad(db, (transaction) =>
    makeTables(transaction, manifest),
  );
  const partitions = manifest.partitions.map(createPartition);
  await runInGroups(db, [...partitions, ...manifest.datasets.map(createTable)], onStep);
  return {
    async insert(table, lines) {
      const insert = inserts.get(table);
      if (insert === undefined) throw unknownTable(table);
      const rows = lines.toString("utf8").trimEnd().split(NEWLINE);
      const size = partitioned.has(table) ? ROWS_A_TRANSACTION : rows.length;
      for (const group of inGroups(rows, size)) {
        const values = `[${group.join(",")}]`;
        await inLoad(db, async (transaction) => {
          // What a crash of the server loses is half, and the end waits for all of it.
          await transaction.execute(sql`set local synchronous_commit = off`);
          await transaction.execute(
            sql`${sql.raw(insert)} from json_array_elements(${values}::text::json) as line`,
          );
        });
        onStep();
      }
    },
    async finish(last) {
      const indexes = manifest.datasets.flatMap((dataset) =>
        dataset.indexes.map((index) => createIndex(dataset, index)),
      );
      await runInGroups(db, indexes, onStep);
      await inLoad(db, async (transaction) => {
        await completeTables(transaction, manifest, references, onStep);
        await unmarkHalf(transaction);
        await last(transaction);
      });
    },
  };
}

/** Runs statements that each make a table, or an index of one. */
async function runInGroups(
  db: Db,
  statements: readonly string[],
  onStep: () => void,
): Promise<void> {
  for (const group of inGroups(statements, TABLES_A_TRANSACTION)) {
    await inLoad(db, async (transaction) => {
      for (const statement of group) {
        await transaction.execute(sql.raw(statement));
        onStep();
      }
    });
  }
}

function inLoad<Result>(db: Db, work: (transaction: Db) => Promise<Result>): Promise<Result> {
  return withTransaction(db, async (transaction) => {
    const limit = String(LOAD_STATEMENT_TIMEOUT_MS);
    await transaction.execute(sql`
      select set_config('statement_timeout', ${limit}, true),
        set_config('idle_in_transaction_session_timeout', ${limit}, true),
        set_config('datestyle', 'ISO, YMD', true), set_config('intervalstyle', 'postgres', true)`);
    return work(transaction);
  });
}

interface MadeTables {
  /** The beginning of the statement that inserts a table's rows, by table. */
  readonly inserts: ReadonlyMap<string, string>;
  readonly partitioned: ReadonlySet<string>;
  readonly references: readonly Reference[];
}

async function makeTables(transaction: Db, manifest: Manifest): Promise<MadeTables> {
  const run = (statement: string) => transaction.execute(sql.raw(statement));
  await migrate({ db: transaction }, undefined, manifest.database.migration);
  await markHalf(transaction, manifest.id);
  const inserts = await prepareInserts(transaction, manifest);
  // Rows that a migration inserted are in the backup, in their state at that time.
  const migrated = manifest.tables.filter(({ name }) => !isDatasetTable(name));
  await run(`truncate ${migrated.map(({ name }) => quoteName(name)).join(", ")}`);
  const references = await listReferences(transaction);
  for (const { table, name } of references) {
    await run(`alter table ${table} drop constraint ${quoteName(name)}`);
  }
  const partitioned = new Set(manifest.partitions.map(({ table }) => table));
  return { inserts, partitioned, references };
}

async function completeTables(
  transaction: Db,
  manifest: Manifest,
  references: readonly Reference[],
  onStep: () => void,
): Promise<void> {
  const run = (statement: string) => transaction.execute(sql.raw(statement));
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

function createPartition({ table, name, bound }: Partition): string {
  return `create table ${quoteName(name)} partition of ${quoteName(table)} ${bound}`;
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
