import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import type { ViewColumn } from "./data-view.ts";

/** A view as it is to be in the schema `data`. */
export interface ViewText {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly ViewColumn[];
  readonly select: string;
  /**
   * True for a view that leaves out rows: a reader's condition must not see them before they are left out. It also
   * keeps an order out of the view, so that the first rows by an index cost a sort of all.
   */
  readonly isBarrier: boolean;
}

/**
 * Called in the transaction that makes a view, also when it is dropped and made again: it has no grants then. A
 * replaced one keeps its grants.
 */
export type OnViewMade = (transaction: Db, name: string) => Promise<void>;

/** Locks that are not free, and a schema or view that another transaction dropped or made meanwhile. */
const LATER: ReadonlySet<string> = new Set([
  ...["55P03", "40P01"],
  ...["3F000", "42P01", "42P07", "42710", "23505"],
]);

/** Creates or changes a view so that it is as `view` says. Waits for its readers unless only its comments change. */
export async function writeView(
  transaction: Db,
  view: ViewText,
  onViewMade: OnViewMade,
): Promise<void> {
  const before = await readColumns(transaction, view.name);
  const isNew = before.length === 0;
  const isGrown = before.every(({ name, type }, index) => {
    const column = view.columns[index];
    return column?.name === name && column.type === type;
  });
  const statements = [createStatement(view), ...commentStatements(view)];
  if (!isGrown) statements.unshift(`drop view ${nameOf(view.name)}`);
  if (isNew || !isGrown) statements.push(`revoke all on ${nameOf(view.name)} from public`);
  await transaction.execute(sql.raw(statements.join(";\n")));
  if (isNew || !isGrown) await onViewMade(transaction, view.name);
}

export async function dropView(transaction: Db, name: string): Promise<void> {
  await transaction.execute(sql.raw(`drop view if exists ${nameOf(name)}`));
}

/** Takes the rights to a view from all but its owner. It waits for no reader. */
export async function closeView(transaction: Db, name: string): Promise<void> {
  const grantees = await transaction.execute<{ name: string }>(sql`
    select distinct quote_ident(rolname) as name from pg_class, aclexplode(relacl)
    join pg_roles on pg_roles.oid = grantee
    where pg_class.oid = to_regclass(${nameOf(name)}) and grantee <> relowner`);
  for (const grantee of grantees) {
    await transaction.execute(sql.raw(`revoke all on ${nameOf(name)} from ${grantee.name}`));
  }
}

/**
 * Takes the lock that a change of a view needs. `lock table` would also lock the tables that it reads, and loads with
 * them.
 */
export async function lockView(transaction: Db, name: string): Promise<void> {
  await transaction.execute(
    sql.raw(`alter view if exists ${nameOf(name)} set (security_barrier = true)`),
  );
}

/**
 * Runs `work` as a part of a transaction in which each lock is waited for at most `timeoutMs`. Returns false, and
 * nothing of it is done, when one was not free or another transaction was faster.
 */
export async function withLockTimeout(
  transaction: Db,
  timeoutMs: number,
  work: (part: Db) => Promise<void>,
): Promise<boolean> {
  try {
    await withTransaction(transaction, async (part) => {
      const [found] = await part.execute<{ before: string }>(
        sql`select current_setting('lock_timeout') as before`,
      );
      await part.execute(sql`select set_config('lock_timeout', ${String(timeoutMs)}, true)`);
      await work(part);
      await part.execute(sql`select set_config('lock_timeout', ${found?.before ?? "0"}, true)`);
    });
    return true;
  } catch (thrown) {
    if (LATER.has(toDatabaseError(thrown).code)) return false;
    throw thrown;
  }
}

/** The columns of a view as the database has it; none where it does not exist. */
async function readColumns(
  db: Db,
  name: string,
): Promise<readonly { readonly name: string; readonly type: string }[]> {
  return db.execute<{ name: string; type: string }>(sql`
    select attname as name, format_type(atttypid, null) as type from pg_attribute
    where attrelid = to_regclass(${nameOf(name)}) and attnum > 0 order by attnum`);
}

function createStatement({ name, columns, select, isBarrier }: ViewText): string {
  const names = columns.map((column) => quoteName(column.name)).join(", ");
  const options = isBarrier ? "with (security_barrier = true)" : "";
  return `create or replace view ${nameOf(name)} (${names}) ${options} as ${select}`;
}

function commentStatements({ name, comment, columns }: ViewText): readonly string[] {
  return [
    `comment on view ${nameOf(name)} is ${literalOf(comment)}`,
    ...columns.map(
      (column) =>
        `comment on column ${nameOf(name)}.${quoteName(column.name)} is ${literalOf(column.comment)}`,
    ),
  ];
}

function nameOf(view: string): string {
  return `data.${quoteName(view)}`;
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Such statements take no parameters. */
export function literalOf(text: string | null): string {
  if (text === null) return "null";
  const escaped = text.replaceAll("'", "''").replaceAll("\\", "\\\\");
  return `${text.includes("\\") ? " E" : ""}'${escaped}'`;
}
