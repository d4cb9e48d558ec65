import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Caller } from "../../../src/core/callers/caller.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { files, vectorStoreFiles, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { users } from "../../../src/db/tables/users.ts";
import {
  changeFile,
  readTarget,
  TargetGone,
} from "../../../src/knowledge/ingest/ingestion-target.ts";
import { addFiles, type NewStoreFile } from "../../../src/knowledge/stores/add-files.ts";
import { expireStores } from "../../../src/knowledge/stores/expire-stores.ts";
import { touchStores } from "../../../src/knowledge/stores/touch-stores.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const NOW = Date.UTC(2026, 10, 23);
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const STORE = "vs_a";
const FINE = { max_chunk_size_tokens: 100, chunk_overlap_tokens: 0 };
const caller: Caller = {
  kind: "session",
  sessionId: "ses_1",
  ownerId: "usr_owner",
  username: "owner",
  role: "user",
  mustChangePassword: false,
  passthrough: false,
};
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
  const user = { id: "usr_owner", username: "owner", passwordHash: "-", role: "user" } as const;
  await database.db.insert(users).values(user);
  for (const id of ["file-1", "file-2", "file-3"]) {
    const row = { filename: "a.md", purpose: "assistants", bytes: 1, sha256: "0" };
    await database.db.insert(files).values({ id, ownerId: "usr_owner", ...row });
  }
});
afterAll(() => database?.close());
beforeEach(async () => {
  const { db } = database;
  await db.delete(vectorStores);
  await db.delete(outboxEvents);
  const at = new Date(NOW);
  const row = { id: STORE, name: "a", embeddingModel: "m", generation: 4 };
  await db.insert(vectorStores).values({ ...row, createdAt: at, lastActiveAt: at });
});

async function readStore() {
  const [store] = await database.db.select().from(vectorStores).where(eq(vectorStores.id, STORE));
  if (store === undefined) throw new Error("the store is gone");
  return store;
}

async function add(
  ids: readonly string[],
  more: Partial<NewStoreFile> = {},
  now = NOW,
  inBatch = true,
) {
  const store = await readStore();
  const given = ids.map((fileId) => ({ fileId, attributes: {}, chunking: null, ...more }));
  const addition = { store, files: given, caller, inBatch };
  return withTransaction(database.db, (transaction) => addFiles(transaction, addition, now));
}

async function readFile(fileId: string) {
  const rows = await database.db.select().from(vectorStoreFiles);
  return rows.find((row) => row.fileId === fileId);
}

async function setFile(fileId: string, fields: Partial<typeof vectorStoreFiles.$inferInsert>) {
  const isMeant = eq(vectorStoreFiles.fileId, fileId);
  await database.db.update(vectorStoreFiles).set(fields).where(isMeant);
}

async function jobs(kind: string): Promise<readonly unknown[]> {
  const rows = await database.db.select().from(outboxEvents).where(eq(outboxEvents.kind, kind));
  await database.db.delete(outboxEvents);
  return rows.map(({ body }) => body);
}

describe("addFiles", () => {
  it("stores a job a file for the store's generation, and none for no files", async () => {
    expect(await add([])).toBeNull();
    await add(["file-1", "file-2", "file-1"]);
    const all = await jobs("file");
    expect(all).toHaveLength(2);
    expect(all).toContainEqual({ vectorStoreId: STORE, fileId: "file-1", generation: 4 });
    expect((await readStore()).version).toBe(0);
  });

  it("leaves a file that is being read to its worker, and its batch to the later one", async () => {
    const first = await add(["file-1"]);
    await setFile("file-1", { chunksDone: 5, chunksTotal: 9 });
    await jobs("file");
    const second = await add(["file-1", "file-2"], { chunking: FINE, attributes: { a: 1 } });
    expect(await readFile("file-1")).toMatchObject({
      batchId: second,
      chunksDone: 5,
      chunking: null,
      attributes: { a: 1 },
    });
    expect(await readFile("file-2")).toMatchObject({ batchId: second, chunking: FINE });
    const stored = await database.db.select().from(outboxEvents);
    const bodies = stored.map(({ kind, body }) => ({ kind, body }));
    expect(bodies).toHaveLength(2);
    expect(bodies).toContainEqual({ kind: "settle", body: { batchId: first } });
    expect(bodies).toContainEqual({
      kind: "file",
      body: { vectorStoreId: STORE, fileId: "file-2", generation: 4 },
    });
  });

  it.each([
    ["completed in another way", { status: "completed", chunking: FINE }],
    ["failed", { status: "failed", errorCode: "server_error", errorMessage: "no engine" }],
    ["cancelled", { status: "cancelled" }],
  ] as const)("begins again with a file that was %s", async (_, fields) => {
    await add(["file-1"]);
    await setFile("file-1", { ...fields, chunksDone: 3, chunksTotal: 3, usageBytes: 12 });
    await jobs("file");
    await add(["file-1"], {}, NOW + DAY_MS);
    expect(await readFile("file-1")).toMatchObject({
      status: "in_progress",
      errorCode: null,
      errorMessage: null,
      chunking: null,
      chunksDone: 0,
      chunksTotal: null,
      usageBytes: 0,
      createdAt: new Date(NOW + DAY_MS),
    });
    expect(await jobs("file")).toHaveLength(1);
    expect((await readStore()).version).toBe(1);
  });

  it("gives a file that is added again another time, also in the same millisecond", async () => {
    await add(["file-1"], { chunking: FINE });
    const { generation } = await readStore();
    const ids = { vectorStoreId: STORE, fileId: "file-1", generation };
    const first = await readTarget(database.db, ids);
    await setFile("file-1", { status: "cancelled" });
    await add(["file-1"]);
    expect(await readFile("file-1")).toMatchObject({ createdAt: new Date(NOW + 1) });
    if (first === undefined) throw new Error("there was nothing to do");
    await expect(changeFile(database.db, first, { chunksTotal: 2 }, 0)).rejects.toBeInstanceOf(
      TargetGone,
    );
  });

  it("reports a file at once that is added by itself and was completed before", async () => {
    await add(["file-1", "file-2"]);
    await setFile("file-1", { status: "completed" });
    await jobs("file");
    await add(["file-1"], {}, NOW, false);
    await add(["file-2"], {}, NOW, false);
    expect(await jobs("knowledge.ingested")).toEqual([
      {
        vector_store_id: STORE,
        vector_store_name: "a",
        batch_id: null,
        file_id: "file-1",
        completed: 1,
        failed: 0,
        cancelled: 0,
      },
    ]);
  });

  it("stores nothing when one file is missing", async () => {
    await expect(add(["file-1", "file-unknown"])).rejects.toMatchObject({ code: "not_found" });
    expect(await readFile("file-1")).toBeUndefined();
    expect(await jobs("file")).toEqual([]);
  });
});

describe("a store's last use", () => {
  const setDays = (days: number) =>
    database.db
      .update(vectorStores)
      .set({ expiresAfterDays: days, expiresAt: new Date(NOW + days * DAY_MS) });

  it("is written once a minute at most, and puts off its expiry", async () => {
    await setDays(3);
    await touchStores(database.db, [STORE], NOW + MINUTE_MS);
    expect((await readStore()).lastActiveAt.getTime()).toBe(NOW);
    const later = NOW + MINUTE_MS + 1;
    await touchStores(database.db, [STORE], later);
    expect(await readStore()).toMatchObject({
      lastActiveAt: new Date(later),
      expiresAt: new Date(later + 3 * DAY_MS),
    });
  });

  it("sets no expiry of a store that never expires", async () => {
    await touchStores(database.db, [STORE], NOW + DAY_MS);
    expect(await readStore()).toMatchObject({
      lastActiveAt: new Date(NOW + DAY_MS),
      expiresAt: null,
    });
  });

  it("ends with its files, of which batches are then reported", async () => {
    await setDays(1);
    const batch = await add(["file-1", "file-2"]);
    await jobs("file");
    await expireStores(database.db, NOW + DAY_MS - 1);
    expect(await readFile("file-1")).toBeDefined();
    await expireStores(database.db, NOW + DAY_MS);
    expect(await readFile("file-1")).toBeUndefined();
    expect(await jobs("settle")).toEqual([{ batchId: batch }]);
    expect((await readStore()).version).toBe(1);
    await expect(add(["file-1"], {}, NOW + DAY_MS)).rejects.toMatchObject({
      code: "invalid_value",
      message: expect.stringMatching(/has expired/),
    });
  });
});
