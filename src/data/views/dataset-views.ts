import { eq, inArray } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import { type Db, withTransaction } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { datasets } from "../../db/tables/datasets.ts";
import { inGroups } from "../../lib/in-groups.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { datasetViewText, type ViewedRow } from "./dataset-view.ts";
import {
  hasSchema,
  listStaleViews,
  readStoredView,
  type StaleView,
  type StoredView,
} from "./stored-views.ts";
import {
  closeView,
  dropView,
  lockView,
  type OnViewMade,
  withLockTimeout,
  writeView,
} from "./view-statements.ts";

/**
 * Changing a view needs it without readers, and a report may read for minutes. A load does not wait for that: readers
 * go on with the table before, which stays while a view reads it, and `publish` changes the view later.
 */
const LOAD_WAIT_MS = 100;
/** A name that changes hands must not show the rows of the dataset before. */
const NAME_WAIT_MS = 2_000;
/** While a change waits, new readers wait behind it: at first for moments, and in the end until all before are done. */
const WAITS: readonly { readonly afterMs: number; readonly waitMs: number }[] = [
  { afterMs: 0, waitMs: 200 },
  { afterMs: 60_000, waitMs: 2_000 },
  { afterMs: 600_000, waitMs: 40_000 },
];
/** New views that one transaction makes. */
const BATCH = 100;

/** The views of datasets. The first three belong into the transaction that changes the dataset. */
export interface DatasetViews {
  /**
   * Makes the view of a new dataset, or brings it up to a change. Rejects with `storage_unavailable` when a view of
   * another dataset had the name and is still being read.
   */
  readonly show: (transaction: Db, dataset: ViewedRow) => Promise<void>;
  /** Removes the view of a dataset that is gone, or had this name. Where that has to wait nobody new may read it. */
  readonly hide: (transaction: Db, name: string) => Promise<void>;
  /** Brings all views up to their datasets. Returns false when some have to wait for their readers. */
  readonly publish: () => Promise<boolean>;
  /** False when nothing is known to wait for `publish`. */
  readonly isDue: () => boolean;
}

export function createDatasetViews({
  database,
  clock,
  onViewMade,
}: {
  readonly database: Pick<Database, "db">;
  readonly clock: Clock;
  readonly onViewMade: OnViewMade;
}): DatasetViews {
  /** Since when views wait, by their names. */
  const waiting = new Map<string, number>();
  let isDue = true;

  const show: DatasetViews["show"] = async (transaction, dataset) => {
    if (!(await hasSchema(transaction))) return;
    const before = await readStoredView(transaction, dataset.name);
    if (before !== null && !isOf(before, dataset)) await dropOther(transaction, dataset.name);
    const isShown = await withLockTimeout(transaction, LOAD_WAIT_MS, (part) =>
      writeView(part, datasetViewText(dataset), onViewMade),
    );
    if (!isShown) isDue = true;
  };
  const hide: DatasetViews["hide"] = async (transaction, name) => {
    if ((await readStoredView(transaction, name)) === null) return;
    const isGone = await withLockTimeout(transaction, LOAD_WAIT_MS, (part) => dropView(part, name));
    if (isGone) return;
    isDue = true;
    await closeView(transaction, name);
  };

  /** Makes views that are missing, for which nobody waits. */
  const add = async (ids: readonly string[]): Promise<void> => {
    await withTransaction(database.db, async (transaction) => {
      // A load that is being committed shows its dataset itself.
      const rows = await transaction
        .select()
        .from(datasets)
        .where(inArray(datasets.id, [...ids]))
        .orderBy(datasets.id)
        .for("share", { skipLocked: true });
      for (const row of rows) await show(transaction, row);
    });
  };
  const update = (stale: StaleView): Promise<boolean> =>
    withTransaction(database.db, (transaction) => {
      const since = waiting.get(stale.name) ?? clock.now();
      waiting.set(stale.name, since);
      const age = clock.now() - since;
      const waitMs = WAITS.findLast(({ afterMs }) => afterMs <= age)?.waitMs ?? LOAD_WAIT_MS;
      return withLockTimeout(transaction, waitMs, async (part) => {
        // Before the dataset's record, which loads need while this waits.
        await lockView(part, stale.name);
        const found = part.select().from(datasets).where(eq(datasets.name, stale.name));
        const [row] = await found.for("share");
        if (row === undefined) await dropView(part, stale.name);
        else await writeView(part, datasetViewText(row), onViewMade);
      });
    });

  return {
    show,
    hide,
    isDue: () => isDue,
    async publish() {
      isDue = false;
      if (!(await hasSchema(database.db))) return true;
      const stale = await listStaleViews(database.db);
      const missing = stale.flatMap((one) => (one.is_missing ? (one.dataset_id ?? []) : []));
      for (const group of inGroups(missing, BATCH)) await add(group);
      const held = stale.filter((one) => !one.is_missing);
      const names = new Set(held.map(({ name }) => name));
      for (const name of waiting.keys()) if (!names.has(name)) waiting.delete(name);
      for (const one of held) if (await update(one)) waiting.delete(one.name);
      isDue ||= waiting.size > 0;
      return !isDue;
    },
  };
}

/** Whether a view reads a table of this dataset: their names begin with its id. */
function isOf({ table_name: table }: StoredView, { id }: ViewedRow): boolean {
  return table.startsWith(`${id}_`);
}

async function dropOther(transaction: Db, name: string): Promise<void> {
  if (await withLockTimeout(transaction, NAME_WAIT_MS, (part) => dropView(part, name))) return;
  throw new ServiceError(
    "storage_unavailable",
    `The dataset that was named '${name}' before is being read by long queries now; take the name later.`,
  );
}
