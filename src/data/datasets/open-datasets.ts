import { eq } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Part } from "../../core/part.ts";
import type { Base } from "../../db/base.ts";
import type { Db } from "../../db/context.ts";
import { datasets as records } from "../../db/tables/datasets.ts";
import type { InternalEvents } from "../../queue/internal-events.ts";
import type { Views } from "../views/open-views.ts";
import { newDatasetRow, refuseNewDataset } from "./change-dataset.ts";
import { createLoad } from "./dataset-load.ts";
import { type DatasetStore, noDataset, readDataset, readWritable } from "./dataset-store.ts";
import { createDatasetUpkeep, READER_GRACE_MS } from "./dataset-upkeep.ts";
import type { Dataset, Datasets } from "./datasets.ts";
import { openTableFiles, type TableFiles } from "./imports/table-files.ts";
import { changedMeanwhile, type RowBatch, type RowPlace, readVersion } from "./read-rows.ts";

/**
 * Larger loads become parts, and larger upserts rewrite their dataset. Moving 10,000 rows takes 40 ms and upserting them
 * 180 ms (bench/datasets.ts): all others wait for the embedded database as long, and nobody for a PostgreSQL.
 */
const MOVE_ROWS = { embedded: 10_000, postgres: 50_000 } as const;
const UPKEEP_PAUSE_MS = 5 * 60_000;
const VIEWS_PAUSE_MS = 5_000;

export interface DatasetParts {
  readonly events: Pick<InternalEvents, "wake">;
  readonly views: Pick<Views, "show" | "hide" | "keep">;
}

/** Datasets, and what the routes need beside. */
export interface OpenedDatasets extends Datasets {
  readonly store: DatasetStore;
  /** Reads tables that others sent, in processes of their own. */
  readonly files: TableFiles;
  /** Reads on from a place. `limit`: rows of a batch at most. */
  readonly readFrom: (
    dataset: Dataset,
    from: { readonly place?: RowPlace; readonly limit?: number; readonly signal: AbortSignal },
  ) => AsyncGenerator<RowBatch, void>;
}

export interface OpenDatasets extends Part<Db> {
  readonly datasets: OpenedDatasets;
}

/** @param moveRows see `DatasetStore`; for tests. */
export function openDatasets(
  { settings, database, clock, log }: Base,
  {
    events,
    views,
    moveRows = MOVE_ROWS[database.kind],
  }: DatasetParts & { readonly moveRows?: number },
): OpenDatasets {
  const store: DatasetStore = {
    database,
    clock,
    maxRows: settings.DATASET_MAX_ROWS,
    moveRows,
    ownLoads: new Set(),
    views,
    wake: () => events.wake(),
  };
  const files = openTableFiles();
  const upkeep = createDatasetUpkeep(store, log);
  const current = async ({ id }: Pick<Dataset, "id">) => {
    const [row] = await database.askOwn((db) =>
      db.select().from(records).where(eq(records.id, id)),
    );
    if (row === undefined) throw noDataset();
    return row;
  };
  const readFrom: OpenedDatasets["readFrom"] = async function* (dataset, { signal, ...from }) {
    const row = await current(dataset);
    const beganAt = clock.now();
    for await (const batch of readVersion(database.askOwn, row, from)) {
      signal.throwIfAborted();
      yield batch;
      // What later versions removed is kept for a while, and not longer.
      const isLate = clock.now() - beganAt > READER_GRACE_MS;
      if (isLate && (await current(dataset)).version !== row.version) throw changedMeanwhile();
    }
  };
  const asked = <Found>(
    read: (db: Db, caller: AnyCaller, idOrName: string) => Promise<Found>,
    caller: AnyCaller,
    idOrName: string,
  ) => database.askOwn((db) => read(db, caller, idOrName));
  const datasets: OpenedDatasets = {
    store,
    files,
    readFrom,
    find: (caller, idOrName) => asked(readDataset, caller, idOrName),
    async refuseWriting(caller, idOrName) {
      await asked(readWritable, caller, idOrName);
    },
    async *read(dataset, signal) {
      for await (const { rows } of readFrom(dataset, { signal })) yield rows;
    },
    async load(dataset, change) {
      return createLoad(store, { dataset: await current(dataset), isNew: false }, change);
    },
    async loadNew(ownerId, given) {
      const dataset = newDatasetRow(ownerId, given, clock.now());
      await database.askOwn((db) => refuseNewDataset(db, dataset.name));
      return createLoad(store, { dataset, isNew: true }, "append");
    },
    wake: store.wake,
  };
  return {
    datasets,
    jobs: [
      {
        name: "dataset_orphans",
        pauseMs: UPKEEP_PAUSE_MS,
        firstMs: 1_000,
        run: upkeep.dropOrphans,
      },
      { name: "dataset_gone_rows", pauseMs: UPKEEP_PAUSE_MS, run: upkeep.purgeRows },
      { name: "data_views", pauseMs: VIEWS_PAUSE_MS, run: views.keep },
    ],
    close: async () => files.close(),
  };
}
