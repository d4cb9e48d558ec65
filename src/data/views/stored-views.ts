import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { BUILT_IN_VIEWS } from "./registry.ts";

/** The view of a dataset as the database has it. */
export interface StoredView {
  readonly name: string;
  /** The table of a dataset that it reads. */
  readonly table_name: string;
  readonly columns: number;
  readonly comment: string | null;
}

/** A dataset whose view is missing or differs from it, or a view whose dataset is gone. */
export interface StaleView {
  readonly name: string;
  /** Null where the dataset is gone. */
  readonly dataset_id: string | null;
  readonly is_missing: boolean;
}

/** The views in the schema `data` that read a table of a dataset. What a view reads is known by what it depends on. */
function storedViews(isWanted: SQL): SQL {
  return sql`
    select distinct on (shown.oid) shown.relname as name, read.relname as table_name, shown.relnatts::int as columns,
      obj_description(shown.oid, 'pg_class') as comment
    from pg_class as shown
    join pg_rewrite on ev_class = shown.oid
    join pg_depend on classid = 'pg_rewrite'::regclass and objid = pg_rewrite.oid
      and refclassid = 'pg_class'::regclass
    join pg_class as read on read.oid = refobjid and read.relnamespace = to_regnamespace('datasets')
    where shown.relnamespace = to_regnamespace('data') and shown.relkind = 'v' and ${isWanted}`;
}

/** Returns null where there is no such view. */
export async function readStoredView(db: Db, name: string): Promise<StoredView | null> {
  const [found] = await db.execute<StoredView & Record<string, unknown>>(
    storedViews(sql`shown.relname = ${name}`),
  );
  return found ?? null;
}

/** False until the views are made at start, and between a migration and that. */
export async function hasSchema(db: Db): Promise<boolean> {
  const [found] = await db.execute<{ is_there: boolean }>(
    sql`select to_regnamespace('data') is not null as is_there`,
  );
  return found?.is_there === true;
}

/** Lists what is stale among the views of datasets, in the order of names. Only views of datasets are looked at. */
export async function listStaleViews(db: Db): Promise<readonly StaleView[]> {
  const builtIn = sql.join(
    BUILT_IN_VIEWS.map(({ name }) => sql`${name}`),
    sql`, `,
  );
  return db.execute<StaleView & Record<string, unknown>>(sql`
    with shown as (${storedViews(sql`true`)})
    select coalesce(shown.name, dataset.name) as name, dataset.id as dataset_id, shown.name is null as is_missing
    from datasets as dataset full join shown on shown.name = dataset.name
    where coalesce(shown.name, dataset.name) not in (${builtIn})
      and (dataset.id is null or shown.name is null or shown.table_name <> dataset.table_name
        or shown.columns <> jsonb_array_length(dataset.columns)
        or shown.comment is distinct from nullif(dataset.description, ''))
    order by 1`);
}
