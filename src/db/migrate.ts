import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";
import { StartRefusal } from "../lib/start-refusal.ts";
import { type Db, withTransaction } from "./context.ts";
import type { Database } from "./database.ts";
import { toDatabaseError } from "./database-error.ts";
import { ADVISORY_LOCK } from "./locks/advisory-locks.ts";

const MIGRATIONS_FOLDER = fileURLToPath(new URL("../../drizzle", import.meta.url));
/** Longest a statement of a migration, or the wait for another replica's, may take. */
const MIGRATION_TIMEOUT_MS = 600_000;

/** Thrown when a later release has been at this database: this one would not understand it. */
export class SchemaTooNewError extends StartRefusal {
  override readonly name = "SchemaTooNewError";
}

/**
 * Brings the schema to this program's version. One transaction does it all under a lock, so of several
 * replicas one migrates and the others find it done, and a kill leaves the schema as it was.
 * Throws a StartRefusal when that fails.
 *
 * @param until when the last migration to apply was made, in Unix milliseconds.
 */
export async function migrate(
  { db }: Pick<Database, "db">,
  migrationsFolder: string = MIGRATIONS_FOLDER,
  until: number = Number.POSITIVE_INFINITY,
): Promise<void> {
  const known = readMigrationFiles({ migrationsFolder });
  const migrated = withTransaction(db, async (transaction) => {
    await transaction.execute(sql.raw(`set local statement_timeout = ${MIGRATION_TIMEOUT_MS}`));
    await transaction.execute(sql.raw(`set local lock_timeout = ${MIGRATION_TIMEOUT_MS}`));
    await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.migration})`);
    const newest = await newestApplied(transaction);
    refuseLaterSchema(newest, known);
    for (const migration of known) {
      const isDue = migration.folderMillis > newest && migration.folderMillis <= until;
      if (isDue) await apply(transaction, migration);
    }
  });
  await migrated.catch((thrown: unknown) => {
    if (thrown instanceof StartRefusal) throw thrown;
    const cause = toDatabaseError(thrown);
    throw new StartRefusal(
      `The schema could not be brought up to date, it is as it was. ${cause.message}`,
      { cause },
    );
  });
}

/** When each migration of this release was made, in Unix milliseconds, the oldest first. */
export function knownMigrations(): readonly number[] {
  const known = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  return known.map((migration) => migration.folderMillis);
}

function refuseLaterSchema(newest: number, known: readonly MigrationMeta[]): void {
  if (newest <= Math.max(0, ...known.map((migration) => migration.folderMillis))) return;
  throw new SchemaTooNewError(
    "The database was last used by a newer release of the gateway, and this release does not understand " +
      "its schema. Start the newer release again, or restore a backup from before the upgrade.",
  );
}

/** When the newest migration in the database was made, in Unix milliseconds; 0 for an empty database. */
async function newestApplied(transaction: Db): Promise<number> {
  await transaction.execute(sql`create schema if not exists drizzle`);
  await transaction.execute(
    sql`create table if not exists drizzle.__drizzle_migrations
      (id serial primary key, hash text not null, created_at bigint)`,
  );
  const [row] = await transaction.execute<{ newest: string | null }>(
    sql`select max(created_at)::text as newest from drizzle.__drizzle_migrations`,
  );
  return Number(row?.newest ?? 0);
}

async function apply(transaction: Db, migration: MigrationMeta): Promise<void> {
  for (const statement of migration.sql) await transaction.execute(sql.raw(statement));
  await transaction.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at)
      values (${migration.hash}, ${migration.folderMillis})`,
  );
}
