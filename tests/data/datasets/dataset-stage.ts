import { loadConfig } from "../../../src/config/load-config.ts";
import type { Caller, Role } from "../../../src/core/callers/caller.ts";
import { createDataset } from "../../../src/data/datasets/change-dataset.ts";
import type { DatasetRow } from "../../../src/data/datasets/dataset-store.ts";
import type { Dataset, DatasetChange, NewDataset } from "../../../src/data/datasets/datasets.ts";
import { type OpenedDatasets, openDatasets } from "../../../src/data/datasets/open-datasets.ts";
import { openViews } from "../../../src/data/views/open-views.ts";
import type { OnViewMade } from "../../../src/data/views/view-statements.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { sessions, users } from "../../../src/db/tables/users.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";

export interface DatasetStage {
  readonly datasets: OpenedDatasets;
  readonly owner: Caller;
  readonly create: (given: Omit<NewDataset, "name"> & { name?: string }) => Promise<DatasetRow>;
  /** Adds rows and commits them. Rejects with the first row that is wrong. */
  readonly write: (
    dataset: Dataset,
    change: DatasetChange,
    rows: readonly JsonObject[],
  ) => Promise<Dataset>;
  readonly rows: (dataset: Dataset) => Promise<JsonObject[]>;
  readonly runJob: (name: string) => Promise<void>;
  readonly passTime: (ms: number) => void;
  /** Names of the tables of a dataset, whatever they are. */
  readonly tables: (dataset: Dataset) => Promise<string[]>;
  readonly close: () => Promise<void>;
}

/** Datasets on a database, with a clock of their own. */
export async function openDatasetStage(
  database: Database,
  {
    moveRows,
    maxRows,
    onViewMade,
  }: {
    readonly moveRows?: number;
    readonly maxRows?: number;
    readonly onViewMade?: OnViewMade;
  } = {},
): Promise<DatasetStage> {
  const { settings } = loadConfig({
    LLM_BASE_URL: "http://127.0.0.1:9",
    ...(maxRows !== undefined && { DATASET_MAX_ROWS: String(maxRows) }),
  });
  let now = Date.now();
  const base = { settings, database, clock: { now: () => now }, log: createLog("silent") };
  const events = { wake: () => undefined };
  const views = await openViews(base, onViewMade);
  const opened = openDatasets(base, { events, views, ...(moveRows !== undefined && { moveRows }) });
  const { datasets } = opened;
  const owner = await addCaller(database, "user");
  return {
    datasets,
    owner,
    create: ({ name = `t_${randomBase62(12).toLowerCase()}`, ...given }) =>
      createDataset(
        datasets.store,
        { caller: owner, address: null, requestId: "req_1" },
        { name, ...given },
      ),
    async write(dataset, change, rows) {
      const load = await datasets.load(dataset, change);
      try {
        const [fault] = await load.add(rows);
        if (fault !== undefined) throw new Error(`${fault.row} ${fault.column}: ${fault.message}`);
        await load.prepare();
        return await database.askOwn((db) =>
          withTransaction(db, (transaction) => load.commit(transaction, null)),
        );
      } finally {
        await load.discard();
      }
    },
    async rows(dataset) {
      const all: JsonObject[] = [];
      for await (const rows of datasets.read(dataset, new AbortController().signal))
        all.push(...rows);
      return all;
    },
    async runJob(name) {
      await opened.jobs?.find((job) => job.name === name)?.run();
    },
    passTime(ms) {
      now += ms;
    },
    async tables({ id }) {
      const found = await database.db.execute<{ name: string }>(
        "select relname as name from pg_class where relnamespace = 'datasets'::regnamespace and relkind = 'r'",
      );
      const names = Array.from(found, ({ name }) => name);
      return names.filter((name) => name.startsWith(id)).sort();
    },
    close: async () => opened.close?.(1_000),
  };
}

/** A person with a session. */
export async function addCaller(database: Database, role: Role): Promise<Caller> {
  const id = `usr_${randomBase62(22)}`;
  const username = `name_${randomBase62(12)}`.toLowerCase();
  const sessionId = `ses_${randomBase62(22)}`;
  const user = { id, username, role, passwordHash: "none", mustChangePassword: false };
  await database.db.insert(users).values(user as typeof users.$inferInsert);
  const session = {
    id: sessionId,
    userId: id,
    tokenHash: randomBase62(43),
    expiresAt: new Date(Date.now() + 86_400_000),
  };
  await database.db.insert(sessions).values(session as typeof sessions.$inferInsert);
  return {
    ...{ kind: "session", sessionId, ownerId: id, username, role },
    ...{ mustChangePassword: false, passthrough: false },
  };
}
