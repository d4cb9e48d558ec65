import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { change } from "../../../src/access/change.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { installation } from "../../../src/db/tables/installation.ts";
import { files, vectorStoreFiles, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { deleteExpiredFiles, deleteFile } from "../../../src/knowledge/files/delete-files.ts";
import type { FileStore } from "../../../src/knowledge/files/files.ts";
import { forgetFiles } from "../../../src/knowledge/ingest/folder-copies.ts";
import { createFileBatch } from "../../../src/knowledge/stores/file-batches.ts";
import type { Stores } from "../../../src/knowledge/stores/stores.ts";
import { deleteStore } from "../../../src/knowledge/stores/vector-stores.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { openedKind, openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { actorOf, administrator, admitCallers } from "../../support/stages/access/test-callers.ts";
import { addFile, createFileStore } from "../../support/stages/knowledge/file-store.ts";

const ROUNDS = 12;
const WAIT = { timeout: 20_000, interval: 10 };
const admin = actorOf(administrator);
let database: Database;
let fileStore: FileStore;
let aheadMs = 0;
let stores: Stores;

beforeAll(async () => {
  database = await openTestDatabase();
  await admitCallers(database.db);
  await database.db.insert(installation).values({ secretFingerprint: "of the tests" });
  const clock = { now: () => systemClock.now() + aheadMs };
  fileStore = createFileStore(database, await mkdtemp(join(tmpdir(), "deadlocks-")), clock);
  stores = {
    database,
    clock: systemClock,
    resolveModel: async () => "sim-embed",
    wakeIngestion: () => undefined,
    fileConnections: () => [],
  };
});
beforeEach(async () => {
  aheadMs = 0;
  await database.db.execute(sql`truncate files, vector_stores, outbox_events, chunks cascade`);
  const row = { name: "a store", embeddingModel: "sim-embed", ownerId: "usr_1" };
  await database.db.insert(vectorStores).values(["vs_1", "vs_2"].map((id) => ({ ...row, id })));
});
afterAll(() => database.close());

const add = (storeId: string, ids: readonly string[]) =>
  createFileBatch(stores, admin, {
    storeId,
    source: ids.map((fileId) => ({ fileId, attributes: {}, chunking: null })),
  });

/** The deadlocks that this database has met so far. */
async function deadlocks(): Promise<number> {
  const [row] = await database.db.execute<{ count: number }>(
    sql`select deadlocks::int as count from pg_stat_database where datname = current_database()`,
  );
  return row?.count ?? -1;
}

/** Resolves as soon as a session of this database waits for a lock. */
const untilOneWaits = () =>
  vi.waitFor(async () => {
    const rows = await database.db.execute(sql`
      select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`);
    expect(rows).toHaveLength(1);
  }, WAIT);

describe.skipIf(openedKind === "embedded")("no deadlock", () => {
  it("comes of files that are deleted while they are added", async () => {
    const before = await deadlocks();
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids = [await addFile(fileStore, "one"), await addFile(fileStore, "two")].map(
        ({ id }) => id,
      );
      const [first = "", second = ""] = ids;
      if (round % 2 === 0) await add("vs_1", ids);
      const added = [add("vs_1", [...ids].reverse()), add("vs_2", ids)].map((adding) =>
        adding.catch((thrown: unknown) => expect(thrown).toMatchObject({ code: "not_found" })),
      );
      await Promise.all([
        ...added,
        deleteFile(fileStore, admin, first),
        deleteFile(fileStore, admin, second),
      ]);
    }
    expect(await database.db.$count(vectorStoreFiles)).toBe(0);
    expect(await deadlocks()).toBe(before);
  });

  it("comes of files that expire while they are added", async () => {
    const before = await deadlocks();
    for (let round = 0; round < ROUNDS; round += 1) {
      const ids: string[] = [];
      for (const text of ["one", "two", "three"]) {
        ids.push((await addFile(fileStore, text, { expiresAfter: 3_600 })).id);
      }
      if (round % 2 === 0) await add("vs_1", ids);
      aheadMs = 7_200_000;
      const adding = add("vs_2", [...ids].reverse()).catch((thrown: unknown) =>
        expect(thrown).toMatchObject({ code: "not_found" }),
      );
      await Promise.all([adding, deleteExpiredFiles(fileStore), deleteExpiredFiles(fileStore)]);
      aheadMs = 0;
    }
    expect(await database.db.$count(files)).toBe(0);
    expect(await deadlocks()).toBe(before);
  });

  it("comes of copies that go with their store while another one takes them", async () => {
    const before = await deadlocks();
    const store = { id: "vs_copies", name: "a store", embeddingModel: "sim-embed" };
    for (let round = 0; round < ROUNDS; round += 1) {
      await database.db.insert(vectorStores).values({ ...store, ownerId: "usr_1" });
      const ids: string[] = [];
      for (const text of ["one", "two", "three"]) ids.push((await addFile(fileStore, text)).id);
      await database.db
        .insert(vectorStoreFiles)
        .values(ids.map((fileId) => ({ vectorStoreId: store.id, fileId, sourcePath: fileId })));
      const adding = ["vs_1", "vs_2"].map((id) =>
        add(id, [...ids].reverse()).catch((thrown: unknown) =>
          expect(thrown).toMatchObject({ code: "not_found" }),
        ),
      );
      const deleting = deleteFile(fileStore, admin, ids[1] ?? "").catch((thrown: unknown) =>
        expect(thrown).toMatchObject({ code: "not_found" }),
      );
      const left = deleteStore(stores, admin, store.id).then(() => forgetFiles(database.db, ids));
      await Promise.all([...adding, left, deleting]);
    }
    expect(await database.db.$count(vectorStores, eq(vectorStores.id, store.id))).toBe(0);
    expect(await deadlocks()).toBe(before);
  });

  it("comes of a store that is deleted while a worker stores chunks of a file", async () => {
    const before = await deadlocks();
    const { id } = await addFile(fileStore, "one");
    await add("vs_1", [id]);
    let deleted: Promise<void> | undefined;
    await withTransaction(database.db, async (worker) => {
      await worker.select().from(vectorStores).where(eq(vectorStores.id, "vs_1")).for("key share");
      deleted = deleteStore(stores, admin, "vs_1");
      await untilOneWaits();
      await worker
        .update(vectorStoreFiles)
        .set({ chunksDone: 1 })
        .where(eq(vectorStoreFiles.fileId, id));
    });
    await deleted;
    expect(await database.db.$count(vectorStores, eq(vectorStores.id, "vs_1"))).toBe(0);
    expect(await deadlocks()).toBe(before);
  });

  it("reaches a caller: the change that was undone is made again", async () => {
    const before = await deadlocks();
    let arrived = 0;
    let meet: () => void = () => undefined;
    const haveMet = new Promise<void>((resolve) => {
      meet = resolve;
    });
    const rename = (one: string, other: string) => {
      const frame = {
        action: "vector_store.update",
        targetKind: "vector_store",
        targetId: one,
      } as const;
      return change(stores, admin, frame, async (transaction) => {
        const set = (id: string) =>
          transaction.update(vectorStores).set({ name: "changed" }).where(eq(vectorStores.id, id));
        await set(one);
        arrived += 1;
        if (arrived === 2) meet();
        await haveMet;
        await set(other);
        return { result: one, details: null };
      });
    };
    const made = await Promise.all([rename("vs_1", "vs_2"), rename("vs_2", "vs_1")]);
    expect(made).toEqual(["vs_1", "vs_2"]);
    expect(await deadlocks()).toBe(before + 1);
  });
});
