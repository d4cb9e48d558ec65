import { createHash } from "node:crypto";
import { sql } from "drizzle-orm";
import { type Db, withTransaction } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { LOCK_NOT_AVAILABLE, toDatabaseError } from "../../db/database-error.ts";
import { ADVISORY_LOCK } from "../../db/locks/advisory-locks.ts";
import { VIEWS_MARK } from "../../db/migrate.ts";
import type { BuiltInView } from "./data-view.ts";
import { BUILT_IN_VIEWS, VIEWS_REVISION } from "./registry.ts";
import { literalOf, type OnViewMade, writeView } from "./view-statements.ts";

/** Of the wait for another replica that makes them, and for readers of a view that changes. */
const LOCK_TIMEOUT_MS = 5_000;
const MARK = new RegExp(VIEWS_MARK);
const COMMENT =
  "What may be read: usage, keys, workflows and datasets. The gateway makes this schema and drops it: keep nothing else here.";

/** The database has a schema `data` that the gateway did not make. */
export class ForeignSchemaError extends Error {
  override readonly name = "ForeignSchemaError";
  constructor() {
    super(
      "The database has a schema `data` that is not the gateway's. Rename it, or give the gateway a database of its own.",
    );
  }
}

export interface MakeViewsOptions {
  readonly onViewMade: OnViewMade;
  /** Those of this release unless given, for tests. */
  readonly views?: readonly BuiltInView[];
  readonly revision?: number;
}

/**
 * Makes the schema `data` and the built-in views as this release has them; one query when they are. Of several
 * replicas one makes them. Views of a newer release are left as they are. Those of datasets are not made here
 * (`DatasetViews.publish`).
 * @returns false when a view that changes is being read, or another replica is at it: to be tried again.
 * @throws ForeignSchemaError
 */
export async function makeViews(
  { db }: Pick<Database, "db">,
  { onViewMade, views = BUILT_IN_VIEWS, revision = VIEWS_REVISION }: MakeViewsOptions,
): Promise<boolean> {
  const wanted = { views, revision, fingerprint: fingerprintOf(views) };
  if (isMade(await readSchema(db), wanted)) return true;
  try {
    await withTransaction(db, async (transaction) => {
      await transaction.execute(sql.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`));
      await transaction.execute(sql`select pg_advisory_xact_lock(${ADVISORY_LOCK.dataViews})`);
      const before = await readSchema(transaction);
      if (!isMade(before, wanted)) await make(transaction, { before, wanted, onViewMade });
    });
    return true;
  } catch (thrown) {
    if (toDatabaseError(thrown).code === LOCK_NOT_AVAILABLE) return false;
    throw thrown;
  }
}

interface Wanted {
  readonly views: readonly BuiltInView[];
  readonly revision: number;
  readonly fingerprint: string;
}

interface Schema {
  readonly isThere: boolean;
  /** Null where the gateway did not make the schema. */
  readonly mark: { readonly revision: number; readonly fingerprint: string } | null;
  /** The number of columns of each view and other relation. */
  readonly columns: ReadonlyMap<string, number>;
}

async function readSchema(db: Db): Promise<Schema> {
  const [found] = await db.execute<{
    is_there: boolean;
    comment: string | null;
    relations: readonly { readonly name: string; readonly columns: number }[];
  }>(sql`
    select namespace is not null as is_there, obj_description(namespace, 'pg_namespace') as comment,
      coalesce((select json_agg(json_build_object('name', relname, 'columns', relnatts))
        from pg_class where relnamespace = namespace), '[]') as relations
    from (select to_regnamespace('data')::oid as namespace) as known`);
  const [, revision, fingerprint = ""] = MARK.exec(found?.comment ?? "") ?? [];
  return {
    isThere: found?.is_there === true,
    mark: revision === undefined ? null : { revision: Number(revision), fingerprint },
    columns: new Map(found?.relations.map(({ name, columns }) => [name, columns])),
  };
}

/** Besides the mark: a database that was copied or mended by hand may have it and lack a view. */
function isMade({ mark, columns }: Schema, wanted: Wanted): boolean {
  if (mark === null) return false;
  const isNewer = mark.revision > wanted.revision;
  if (!isNewer && mark.fingerprint !== wanted.fingerprint) return false;
  return wanted.views.every((view) => {
    const found = columns.get(view.name) ?? 0;
    return isNewer ? found >= view.columns.length : found === view.columns.length;
  });
}

async function make(
  transaction: Db,
  {
    before,
    wanted,
    onViewMade,
  }: { readonly before: Schema; readonly wanted: Wanted; readonly onViewMade: OnViewMade },
): Promise<void> {
  const { views, revision, fingerprint } = wanted;
  if (before.isThere && before.mark === null && before.columns.size > 0) {
    throw new ForeignSchemaError();
  }
  await transaction.execute(sql.raw("create schema if not exists data"));
  await transaction.execute(sql.raw("revoke all on schema data from public"));
  const isNewer = before.mark !== null && before.mark.revision > revision;
  for (const view of views) {
    if (isNewer && before.columns.has(view.name)) continue;
    const { name, comment, columns, select } = view;
    // Each shows every row of its tables, so there is none to hide from a condition.
    await writeView(transaction, { name, comment, columns, select, isBarrier: false }, onViewMade);
  }
  if (isNewer) return;
  const comment = `${COMMENT} (views ${revision}, ${fingerprint})`;
  await transaction.execute(sql.raw(`comment on schema data is ${literalOf(comment)}`));
}

function fingerprintOf(views: readonly BuiltInView[]): string {
  const texts = views.map(({ name, comment, columns, select }) => [name, comment, columns, select]);
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex").slice(0, 16);
}
