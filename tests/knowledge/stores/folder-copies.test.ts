import { and, asc, eq, isNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { files, vectorStoreFiles, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { removeFolderFiles } from "../../../src/knowledge/ingest/folder-files.ts";
import { openIngestion } from "../../../src/knowledge/ingest/open-ingestion.ts";
import { expireStores } from "../../../src/knowledge/stores/expire-stores.ts";
import { removeStoreFile } from "../../../src/knowledge/stores/store-files.ts";
import type { Stores } from "../../../src/knowledge/stores/stores.ts";
import { deleteStore } from "../../../src/knowledge/stores/vector-stores.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { actorOf, administrator, admitCallers } from "../../support/stages/access/test-callers.ts";

const admin = actorOf(administrator);
const ENDED = { timeout: 60_000, interval: 10 };
const OF_FOLDER = { sourceConnection: "inbox", sourceSize: 1, sourceModifiedMs: 1 };
let database: Database;
let stores: Stores;

beforeAll(async () => {
  database = await openTestDatabase();
  await admitCallers(database.db);
  stores = {
    database,
    clock: systemClock,
    resolveModel: async () => "sim-embed",
    wakeIngestion: () => undefined,
    fileConnections: () => [],
  };
});
beforeEach(async () => {
  const { db } = database;
  await db.execute(sql`truncate files, vector_stores, outbox_events cascade`);
  const store = { name: "a store", embeddingModel: "sim-embed", ownerId: "usr_1" };
  await db.insert(vectorStores).values(["vs_1", "vs_2"].map((id) => ({ ...store, id })));
});
afterAll(() => database.close());

async function insertFiles(ids: readonly string[]): Promise<void> {
  const row = { filename: "a.md", purpose: "assistants", bytes: 1, sha256: "0".repeat(64) };
  await database.db.insert(files).values(ids.map((id) => ({ ...row, id, ownerId: "usr_1" })));
}

/** Puts files into the first store: one that was uploaded, a copy of its own and one that the second store has too. */
async function fillStores(): Promise<void> {
  await insertFiles(["file-copy", "file-shared", "file-upload"]);
  await database.db.insert(vectorStoreFiles).values([
    { vectorStoreId: "vs_1", fileId: "file-upload" },
    { vectorStoreId: "vs_1", fileId: "file-copy", sourcePath: "copy.md", ...OF_FOLDER },
    { vectorStoreId: "vs_1", fileId: "file-shared", sourcePath: "shared.md", ...OF_FOLDER },
    { vectorStoreId: "vs_2", fileId: "file-shared" },
  ]);
}

/** The database, which is gone after one transaction. */
function failingAfterOne({ db }: Database): Db {
  let begun = 0;
  return new Proxy(db, {
    get(target, name) {
      if (name === "transaction") begun += 1;
      if (begun > 1) throw new Error("the database is gone");
      const value: unknown = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

async function filesLeft(): Promise<readonly string[]> {
  const rows = await database.db.select({ id: files.id }).from(files).orderBy(asc(files.id));
  return rows.map(({ id }) => id);
}

/** Does what was left to the background. */
async function workInBackground(): Promise<void> {
  const { settings } = loadConfig({ LLM_BASE_URL: "http://127.0.0.1:9" });
  const unused = () => Promise.reject(new Error("nothing is ingested"));
  const ingestion = openIngestion(
    { settings, database, clock: systemClock, log: createLog("silent") },
    {
      embedder: { embedPassages: unused },
      readChunks: unused,
      connections: openFileConnections(settings),
      takeFile: unused,
      events: { subscribe: () => undefined, wake: () => undefined },
      isBusy: () => false,
    },
  );
  ingestion.wake();
  const isOpen = and(isNull(outboxEvents.deliveredAt), isNull(outboxEvents.deadAt));
  await vi.waitFor(
    async () => expect(await database.db.$count(outboxEvents, isOpen)).toBe(0),
    ENDED,
  );
  await ingestion.close(0);
}

describe("a copy of a folder's file", () => {
  it("is deleted after its store, unless another store has it; what was uploaded stays", async () => {
    await fillStores();
    await deleteStore(stores, admin, "vs_1");
    expect(await database.db.$count(vectorStores)).toBe(1);
    expect(await database.db.$count(vectorStoreFiles)).toBe(1);
    await workInBackground();
    expect(await filesLeft()).toEqual(["file-shared", "file-upload"]);
    expect(await database.db.$count(vectorStoreFiles)).toBe(1);
  });

  it("is deleted when it is taken out of its store, and stays in another one", async () => {
    await fillStores();
    for (const id of ["file-copy", "file-shared", "file-upload"]) {
      await removeStoreFile(stores, admin, { storeId: "vs_1", id });
    }
    expect(await filesLeft()).toEqual(["file-shared", "file-upload"]);
    expect(await database.db.$count(vectorStoreFiles)).toBe(1);
  });

  it.each([
    [
      "its store expires",
      async (db: Db) => {
        const expiresAt = new Date(systemClock.now() - 1);
        const isFirst = eq(vectorStores.id, "vs_1");
        await database.db.update(vectorStores).set({ expiresAt }).where(isFirst);
        await expireStores(db, systemClock.now());
      },
    ],
    [
      "its folder loses it",
      (db: Db) => {
        const folder = { vectorStoreId: "vs_1", connection: "inbox" };
        return removeFolderFiles({ db, clock: systemClock }, folder, ["copy.md", "shared.md"]);
      },
    ],
  ])("is deleted at once when %s, whatever happens to the database then", async (_, remove) => {
    await fillStores();
    await remove(failingAfterOne(database)).catch((thrown: unknown) =>
      expect(thrown).toMatchObject({ message: "the database is gone" }),
    );
    expect(await filesLeft()).toEqual(["file-shared", "file-upload"]);
  });

  it("is deleted after a store of thousands of them, whose deletion leaves all to jobs of bounded size", async () => {
    const ids = Array.from({ length: 2_500 }, (_, index) => `file-${index}`);
    await insertFiles(ids);
    await database.db.insert(vectorStoreFiles).values(
      ids.map((fileId) => ({
        vectorStoreId: "vs_1",
        fileId,
        sourcePath: `${fileId}.md`,
        ...OF_FOLDER,
      })),
    );
    await deleteStore(stores, admin, "vs_1");
    expect(await database.db.$count(vectorStoreFiles)).toBe(0);
    expect(await filesLeft()).toHaveLength(ids.length);
    const jobs = await database.db.select({ body: outboxEvents.body }).from(outboxEvents);
    const portions = jobs.map(({ body }) => (body["fileIds"] as readonly string[]).length);
    expect(portions.sort()).toEqual([1_000, 1_000, 500]);
    await workInBackground();
    expect(await filesLeft()).toEqual([]);
  });
});
