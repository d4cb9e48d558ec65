import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { HALF_RESTORED } from "../../../db/migrate.ts";
import type { DatasetTable, Partition, Sequence } from "../backup-format.ts";
import { BackupError } from "../backup-format.ts";
import {
  describeDatasets,
  describePartitions,
  describeSequences,
  describeTables,
  type TableDescription,
  toDatasetDescription,
} from "./describe-tables.ts";
import type { Row } from "./row-cursor.ts";
import { writeStandardTexts } from "./standard-texts.ts";

/** The description of a database's content. */
export interface Content {
  /** Those of datasets are among them. */
  readonly tables: readonly TableDescription[];
  readonly datasets: readonly DatasetTable[];
  readonly partitions: readonly Partition[];
  readonly sequences: readonly Sequence[];
  /** When the newest migration was made, in Unix milliseconds. */
  readonly migration: number;
}

/** The database at one moment, unaffected by later writes. */
export interface Snapshot extends Content {
  /** Yields the rows of a table, in batches. Each table can be read once. */
  readonly rows: (table: TableDescription) => AsyncGenerator<readonly Row[]>;
  /** Never rejects. */
  readonly close: () => Promise<void>;
}

/** Describes the database within a transaction. Throws a BackupError when no gateway has ever used it. */
export async function describeContent(transaction: Db): Promise<Content> {
  await writeStandardTexts(transaction);
  const migration = await newestMigration(transaction);
  if (migration === HALF_RESTORED) {
    throw new BackupError(
      "The database is half restored: run `restore` again with the same backup and DATA_DIR.",
    );
  }
  const tables = await describeTables(transaction);
  if (migration === 0 || tables.length === 0) {
    throw new BackupError(
      "There is nothing to back up: no gateway has ever started on this database. Check DATABASE_URL and DATA_DIR.",
    );
  }
  const partitions = await describePartitions(transaction);
  const described = await describeDatasets(transaction);
  return {
    tables: [...tables, ...described.map(toDatasetDescription)],
    datasets: described.map(({ version: _, ...table }) => table),
    ...{ partitions, sequences: await describeSequences(transaction), migration },
  };
}

async function newestMigration(db: Db): Promise<number> {
  const [present] = await db.execute<{ found: boolean }>(
    sql`select to_regclass('drizzle.__drizzle_migrations') is not null as found`,
  );
  if (present?.found !== true) return 0;
  const [row] = await db.execute<{ newest: string | null }>(
    sql`select max(created_at)::text as newest from drizzle.__drizzle_migrations`,
  );
  return Number(row?.newest ?? 0);
}
