import { fileURLToPath } from "node:url";
import { sql } from "drizzle-orm";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";
import { StartRefusal } from "../lib/folders/start-refusal.ts";
import { type Db, withTransaction } from "./context.ts";
import type { Database } from "./database.ts";
import { toDatabaseError } from "./database-error.ts";
import { ADVISORY_LOCK } from "./locks/advisory-locks.ts";

const MIGRATIONS_FOLDER = fileURLToPath(new URL("../../drizzle", import.meta.url));
/** The time limit of a migration's statement, and of the wait for another replica's migration. */
export const MIGRATION_TIMEOUT_MS = 600_000;

/** At the end of the comment on the schema `data`: the release that made its views, and what they were. */
export const VIEWS_MARK = "\\(views (\\d+), ([0-9a-f]{16})\\)$";

/**
 * Stands as the newest migration while a restore fills the database: later than those of any release, so that none
 * starts on what is half.
 */
export const HALF_RESTORED = Number.MAX_SAFE_INTEGER;

/** A later release has used this database, so this release would not understand it. */
export class SchemaTooNewError extends StartRefusal {
  override readonly name = "SchemaTooNewError";
}

/**
 * Migrates the schema to this release in one transaction under a lock. Of several replicas one migrates and the others
 * find it done; a kill leaves the schema unchanged. Throws a StartRefusal when that fails.
 *
 * @param until the creation time of the last migration to apply, in Unix milliseconds.
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
    const due = known.filter(({ folderMillis: at }) => at > newest && at <= until);
    if (due.length > 0) await dropViews(transaction);
    for (const migration of due) await apply(transaction, migration);
  });
  await migrated.catch((thrown: unknown) => {
    if (thrown instanceof StartRefusal) throw thrown;
    const cause = toDatabaseError(thrown);
    throw new StartRefusal(`The schema could not be migrated and is unchanged. ${cause.message}`, {
      cause,
    });
  });
}

/** Returns the creation times of this release's migrations, in Unix milliseconds, oldest first. */
export function knownMigrations(): readonly number[] {
  const known = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  return known.map((migration) => migration.folderMillis);
}

function refuseLaterSchema(newest: number, known: readonly MigrationMeta[]): void {
  if (newest === HALF_RESTORED) {
    throw new StartRefusal(
      "A restore into the database was not finished, so what is there is not whole. Run `restore` again with the same " +
        "backup and DATA_DIR, or name an empty database.",
    );
  }
  if (newest <= Math.max(0, ...known.map((migration) => migration.folderMillis))) return;
  throw new SchemaTooNewError(
    "The database was last used by a newer release of the gateway, and this release does not understand " +
      "its schema. Start the newer release again, or restore a backup from before the upgrade.",
  );
}

/** Returns the creation time of the newest applied migration, in Unix milliseconds; 0 for an empty database. */
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

/**
 * Views of the schema `data` would keep their tables from being changed. They are made again right after
 * (`data/views/make-views.ts`, which marks the schema as the gateway's own).
 */
async function dropViews(transaction: Db): Promise<void> {
  const [found] = await transaction.execute<{ is_own: boolean }>(sql`
    select coalesce(obj_description(to_regnamespace('data'), 'pg_namespace'), '') ~ ${VIEWS_MARK} as is_own`);
  if (found?.is_own === true) await transaction.execute(sql`drop schema data cascade`);
}

async function apply(transaction: Db, migration: MigrationMeta): Promise<void> {
  for (const statement of migration.sql) await transaction.execute(sql.raw(statement));
  await transaction.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at)
      values (${migration.hash}, ${migration.folderMillis})`,
  );
}
