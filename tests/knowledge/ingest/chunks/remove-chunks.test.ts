import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { withTransaction } from "../../../../src/db/context.ts";
import type { Database } from "../../../../src/db/database.ts";
import {
  chunks,
  files,
  vectorStoreFiles,
  vectorStores,
} from "../../../../src/db/tables/knowledge.ts";
import {
  pruneChunks,
  removeFileFromStore,
  removeFilesFromAllStores,
} from "../../../../src/knowledge/ingest/chunks/remove-chunks.ts";
import { openTestDatabase } from "../../../support/servers/databases/test-database.ts";
import { chunkRow } from "../../../support/stages/knowledge/store-stage.ts";

const MINUTE_MS = 60_000;
const NOW = Date.UTC(2026, 10, 23);
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database?.close());
beforeEach(async () => {
  const { db } = database;
  await db.delete(chunks);
  await db.delete(vectorStores);
  await db.delete(files);
});

type FileRow = typeof vectorStoreFiles.$inferInsert;

async function addStore(
  id: string,
  fileIds: readonly string[],
  { next = null, status = "completed" }: { next?: number | null; status?: FileRow["status"] } = {},
) {
  const { db } = database;
  await db.insert(vectorStores).values({ id, name: id, embeddingModel: "m", nextGeneration: next });
  for (const fileId of fileIds) {
    const file = { filename: "a.md", purpose: "assistants", bytes: 1, sha256: "0" };
    await db
      .insert(files)
      .values({ id: fileId, ...file })
      .onConflictDoNothing();
    await db.insert(vectorStoreFiles).values({ vectorStoreId: id, fileId, status });
  }
}

async function addChunks(storeId: string, fileId: string, count: number, generation = 1) {
  const rows = [...Array(count).keys()].map((position) =>
    chunkRow({ storeId, fileId, text: `text ${position}`, position, generation }),
  );
  for (let start = 0; start < count; start += 500) {
    await database.db.insert(chunks).values(rows.slice(start, start + 500));
  }
}

async function placesLeft(): Promise<readonly string[]> {
  const rows = await database.db.selectDistinct().from(chunks);
  const places = rows.map((row) => `${row.vectorStoreId} ${row.generation} ${row.fileId}`);
  return [...new Set(places)].sort();
}

async function versionOf(id: string): Promise<number | undefined> {
  const rows = await database.db.select().from(vectorStores);
  return rows.find((row) => row.id === id)?.version;
}

describe("pruneChunks", () => {
  it("deletes the chunks of stores, files and generations that are gone, and no others", async () => {
    await addStore("vs_a", ["file-1", "file-2"], { next: 2 });
    await addStore("vs_failed", ["file-1"], { status: "failed" });
    await addStore("vs_begun", ["file-1"], { status: "in_progress" });
    await addStore("vs_b", ["file-1"]);
    await addChunks("vs_a", "file-1", 3);
    await addChunks("vs_a", "file-1", 3, 2);
    await addChunks("vs_a", "file-1", 3, 3);
    await addChunks("vs_a", "file-gone", 3);
    await addChunks("vs_b", "file-1", 3);
    await addChunks("vs_b", "file-2", 3);
    await addChunks("vs_gone", "file-1", 3);
    await addChunks("vs_failed", "file-1", 3);
    await addChunks("vs_begun", "file-1", 3);
    expect(await pruneChunks(database.db, MINUTE_MS)).toBe(15);
    expect(await placesLeft()).toEqual([
      "vs_a 1 file-1",
      "vs_a 2 file-1",
      "vs_b 1 file-1",
      "vs_begun 1 file-1",
    ]);
    expect(await pruneChunks(database.db, MINUTE_MS)).toBe(0);
  });

  it("takes more chunks, and looks through more files, than one statement does", async () => {
    await addStore("vs_a", []);
    await addChunks("vs_a", "file-large", 2_500);
    for (let number = 0; number < 1_100; number += 1) {
      await addChunks("vs_gone", `file-${number}`, 1);
    }
    expect(await pruneChunks(database.db, MINUTE_MS)).toBe(3_600);
    expect(await placesLeft()).toEqual([]);
  }, 120_000);

  it("stops when its time is over, and goes on in the next run", async () => {
    await addChunks("vs_gone", "file-1", 10);
    expect(await pruneChunks(database.db, 0)).toBe(0);
    expect(await pruneChunks(database.db, MINUTE_MS, AbortSignal.abort())).toBe(0);
    expect(await pruneChunks(database.db, MINUTE_MS)).toBe(10);
  });
});

describe("a file that is removed", () => {
  it("raises the version of its store in the same transaction", async () => {
    await addStore("vs_a", ["file-1"]);
    const remove = (fileId: string) =>
      withTransaction(database.db, (transaction) =>
        removeFileFromStore(transaction, { vectorStoreId: "vs_a", fileId }, NOW),
      );
    expect(await remove("file-unknown")).toBe(false);
    const before = await versionOf("vs_a");
    expect(await remove("file-1")).toBe(true);
    expect(await versionOf("vs_a")).toBe((before ?? 0) + 1);
    expect(await database.db.$count(vectorStoreFiles)).toBe(0);
  });

  it("leaves all stores when it is deleted", async () => {
    await addStore("vs_a", ["file-1", "file-2"]);
    await addStore("vs_b", ["file-1"]);
    await addStore("vs_c", ["file-2"]);
    await withTransaction(database.db, (transaction) =>
      removeFilesFromAllStores(transaction, ["file-1"], NOW),
    );
    const rows = await database.db.select().from(vectorStoreFiles);
    const left = rows.map(({ vectorStoreId, fileId }) => `${vectorStoreId} ${fileId}`).sort();
    expect(left).toEqual(["vs_a file-2", "vs_c file-2"]);
    expect(await Promise.all(["vs_a", "vs_b", "vs_c"].map(versionOf))).toEqual([1, 1, 0]);
  });
});
