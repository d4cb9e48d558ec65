import { eq, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { datasets } from "../../db/tables/datasets.ts";
import type { SchemaView } from "./data-view.ts";
import { describeDataset } from "./dataset-view.ts";
import { BUILT_IN_VIEWS } from "./registry.ts";

/** Who reads views. */
export type ViewReader =
  | { readonly kind: "administrator" }
  | { readonly kind: "user"; readonly userId: string }
  /** A BI key, with the names of views; `*` is all, those to come too. */
  | { readonly kind: "key"; readonly names: readonly string[] };

/** How much a view holds. */
export interface ViewExtent {
  /** An estimate for large ones. */
  readonly rows: number;
  /** Unix milliseconds; null where it is not known. */
  readonly updatedAt: number | null;
}

const BUILT_IN: readonly SchemaView[] = BUILT_IN_VIEWS.map(({ name, comment, columns, key }) => ({
  ...{ name, comment, columns, key },
  dataset: null,
}));

/** Lists all views: the built-in ones, then the datasets as they are stored now, by name. */
export async function listViews(db: Db): Promise<readonly SchemaView[]> {
  const rows = await db.select().from(datasets).orderBy(datasets.name);
  return [...BUILT_IN, ...rows.map(describeDataset)];
}

/** Returns the view of this name as it is now; undefined where there is none. */
export async function findView(db: Db, name: string): Promise<SchemaView | undefined> {
  const builtIn = BUILT_IN.find((view) => view.name === name);
  if (builtIn !== undefined) return builtIn;
  const [row] = await db.select().from(datasets).where(eq(datasets.name, name));
  return row === undefined ? undefined : describeDataset(row);
}

/** Returns true where a reader may read a view. */
export function maySee({ name, dataset }: SchemaView, reader: ViewReader): boolean {
  if (reader.kind === "administrator") return true;
  if (reader.kind === "key") return reader.names.includes("*") || reader.names.includes(name);
  if (dataset === null) return false;
  return dataset.visibility === "everyone" || dataset.ownerId === reader.userId;
}

/** Reads how much these views hold, by their names. One query; none for datasets, whose records have it. */
export async function readExtents(
  db: Db,
  views: readonly SchemaView[],
): Promise<ReadonlyMap<string, ViewExtent>> {
  const wanted = new Set(views.map(({ name }) => name));
  const builtIn = BUILT_IN_VIEWS.filter(({ name }) => wanted.has(name));
  const extents = new Map<string, ViewExtent>();
  for (const { name, dataset } of views) {
    if (dataset !== null) extents.set(name, { rows: dataset.rows, updatedAt: dataset.updatedAt });
  }
  if (builtIn.length === 0) return extents;
  const parts = builtIn.map(
    ({ name, extent }) => sql`
      select ${name}::text as name, rows::float8 as rows, (extract(epoch from updated_at) * 1000)::float8 as updated_at
      from (${sql.raw(extent)}) as extent`,
  );
  const found = await db.execute<{ name: string; rows: number; updated_at: number | null }>(
    sql.join(parts, sql` union all `),
  );
  for (const { name, rows, updated_at: at } of found) {
    extents.set(name, { rows, updatedAt: at === null ? null : Math.round(at) });
  }
  return extents;
}
