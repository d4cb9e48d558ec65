import {
  createReadStream,
  existsSync,
  readdirSync,
  readFileSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rename } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { auditLog } from "../../../src/db/tables/audit-log.ts";
import { installation } from "../../../src/db/tables/installation.ts";
import { chunks, files, vectorStoreFiles, vectorStores } from "../../../src/db/tables/knowledge.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createFile, createFileFromStream } from "../../../src/knowledge/files/create-file.ts";
import { deleteExpiredFiles, deleteFile } from "../../../src/knowledge/files/delete-files.ts";
import { cleanUpFiles } from "../../../src/knowledge/files/file-jobs.ts";
import {
  type FileStore,
  findFile,
  findOriginal,
  listFiles,
} from "../../../src/knowledge/files/files.ts";
import { refuseOtherFolder } from "../../../src/knowledge/files/files-folder.ts";
import { holdRemoval } from "../../../src/knowledge/files/removal-hold.ts";
import { pruneChunks } from "../../../src/knowledge/ingest/chunks/remove-chunks.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  actorOf,
  administrator,
  admitCallers,
  plainUser,
} from "../../support/stages/access/test-callers.ts";
import { addFile, createFileStore } from "../../support/stages/knowledge/file-store.ts";

const PRUNE_MS = 10_000;
const HOUR_MS = 3_600_000;
let database: Database;
let folder: string;
let store: FileStore;
let aheadMs: number;
const clock = { now: () => Date.now() + aheadMs };

beforeAll(async () => {
  database = await openTestDatabase();
  await admitCallers(database.db);
});
beforeEach(async () => {
  const { db } = database;
  await db.execute(sql`truncate files, vector_stores, outbox_events, chunks cascade`);
  await db.execute(sql`delete from installation`);
  await db.insert(installation).values({ secretFingerprint: "of the tests" });
  folder = await mkdtemp(join(tmpdir(), "originals-"));
  aheadMs = 0;
  store = createFileStore(database, folder, clock);
});
afterAll(() => database.close());

const isThere = ({ sha256 }: { readonly sha256: string }) =>
  existsSync(store.originals.pathOf(sha256));
async function* bytesOf(path: string) {
  yield* createReadStream(path);
}
const drafts = () => readdirSync(join(folder, "files", "drafts"));
const eventsOf = async () =>
  (await database.db.select().from(outboxEvents)).map(({ kind, body }) => ({ kind, body }));

describe("4.6 files", () => {
  it("are deleted by an administrator under the eyes of the audit log, and by their owner without", async () => {
    const foreign = await addFile(store, "some text", { ownerId: "usr_2" });
    const own = await addFile(store, "other text", { ownerId: "usr_2" });
    await deleteFile(store, actorOf(plainUser), own.id);
    await deleteFile(store, actorOf(administrator), foreign.id);
    const entries = await database.db
      .select()
      .from(auditLog)
      .where(eq(auditLog.targetKind, "file"));
    expect(entries).toMatchObject([
      {
        action: "file.delete",
        actorId: "usr_1",
        targetId: foreign.id,
        details: { filename: "a.txt", bytes: 9 },
      },
    ]);
  });

  it("fire file.uploaded and file.deleted, with what is known of an upload", async () => {
    const file = await addFile(store, "some text", { filename: "report.csv" });
    await deleteFile(store, actorOf(administrator), file.id);
    const facts = {
      file_id: file.id,
      path: "report.csv",
      name: "report.csv",
      size: 9,
      sha256: file.sha256,
      owner_id: "usr_1",
      source: "upload",
    };
    expect(await eventsOf()).toEqual(
      expect.arrayContaining([
        { kind: "file.uploaded", body: { ...facts, change: "created" } },
        { kind: "file.deleted", body: facts },
      ]),
    );
  });

  it("leave every store with their chunks when they are deleted, and raise the store's version", async () => {
    const { db } = database;
    const [gone, kept] = [await addFile(store, "gone"), await addFile(store, "kept")];
    await db.insert(vectorStores).values([
      { id: "vs_1", name: "one", embeddingModel: "m" },
      { id: "vs_2", name: "two", embeddingModel: "m" },
    ]);
    for (const [vectorStoreId, fileId] of [
      ["vs_1", gone.id],
      ["vs_1", kept.id],
      ["vs_2", kept.id],
    ] as const) {
      await db.insert(vectorStoreFiles).values({ vectorStoreId, fileId });
      await db.insert(chunks).values({
        ...{ vectorStoreId, fileId, generation: 1, position: 0 },
        ...{ text: "", embedding: [1], words: "" },
      });
    }
    await deleteFile(store, actorOf(administrator), gone.id);
    expect(await db.select().from(vectorStoreFiles)).toHaveLength(2);
    await pruneChunks(db, PRUNE_MS);
    const left = await db.select({ store: chunks.vectorStoreId, file: chunks.fileId }).from(chunks);
    expect(left).toEqual([
      { store: "vs_1", file: kept.id },
      { store: "vs_2", file: kept.id },
    ]);
    const stores = await db.select().from(vectorStores).orderBy(vectorStores.id);
    expect(stores.map(({ version }) => version)).toEqual([1, 0]);
  });

  it("do not exist for others, and are deleted only by those who may change them", async () => {
    const own = await addFile(store, "private");
    const shared = await addFile(store, "shared", { visibility: "everyone" });
    await expect(findFile(store, plainUser, own.id)).rejects.toMatchObject({ code: "not_found" });
    await expect(deleteFile(store, actorOf(plainUser), own.id)).rejects.toMatchObject({
      code: "not_found",
    });
    const refused = { code: "insufficient_permission" };
    await expect(deleteFile(store, actorOf(plainUser), shared.id)).rejects.toMatchObject(refused);
    const query = { limit: 10, order: "asc" } as const;
    expect((await listFiles(store, plainUser, query)).files).toMatchObject([{ id: shared.id }]);
    expect((await listFiles(store, administrator, query)).files).toHaveLength(2);
  });

  it("expire: they do not exist at once, and the job deletes them with their content", async () => {
    const expiring = await addFile(store, "an hour", { expiresAfter: 3_600 });
    const kept = await addFile(store, "for ever");
    aheadMs = HOUR_MS - 10_000;
    await deleteExpiredFiles(store);
    expect((await findFile(store, administrator, expiring.id)).id).toBe(expiring.id);
    aheadMs = HOUR_MS + 10_000;
    await expect(findFile(store, administrator, expiring.id)).rejects.toThrow("no file");
    const listed = await listFiles(store, administrator, { limit: 10, order: "asc" });
    expect(listed.files).toMatchObject([{ id: kept.id }]);
    await deleteExpiredFiles(store);
    expect(await database.db.select().from(files)).toHaveLength(1);
    expect([isThere(expiring), isThere(kept)]).toEqual([false, true]);
    expect(await eventsOf()).toContainEqual(expect.objectContaining({ kind: "file.deleted" }));
  });

  it("can be taken from a folder, without an event and without a second copy", async () => {
    const path = join(folder, "source.txt");
    writeFileSync(path, "from a folder");
    const fields = { filename: "source.txt", purpose: "assistants", ownerId: "usr_1" };
    const taken = await createFileFromStream(store, bytesOf(path), {
      ...fields,
      visibility: "everyone",
    });
    expect(taken).toMatchObject({ bytes: 13, visibility: "everyone" });
    expect(readFileSync(await findOriginal(store, taken), "utf8")).toBe("from a folder");
    expect(existsSync(path)).toBe(true);
    const missing = createFileFromStream(store, bytesOf(`${path}.gone`), {
      ...fields,
      visibility: "private",
    });
    await expect(missing).rejects.toMatchObject({ code: "ENOENT" });
    const small = { ...store, maxBytes: 12 };
    const large = createFileFromStream(small, bytesOf(path), {
      ...fields,
      visibility: "private",
    });
    await expect(large).rejects.toMatchObject({ code: "request_too_large" });
    expect(drafts()).toEqual([]);
    await database.db.insert(vectorStores).values({ id: "vs_1", name: "one", embeddingModel: "m" });
    await database.db
      .insert(vectorStoreFiles)
      .values({ vectorStoreId: "vs_1", fileId: taken.id, sourcePath: "source.txt" });
    await deleteFile(store, actorOf(administrator), taken.id);
    expect(await eventsOf()).toEqual([]);
  });
});

describe("4.6 the clean-up of files", () => {
  it("removes unfinished uploads after an hour, but for those that are still running", async () => {
    const running = await store.originals.begin();
    const other = createFileStore(database, folder, clock);
    await (await other.originals.begin()).finish();
    await cleanUpFiles(store);
    expect(drafts()).toHaveLength(2);
    aheadMs = 2 * HOUR_MS;
    await cleanUpFiles(store);
    expect(drafts()).toHaveLength(1);
    await running.write(Buffer.from("still running"));
    expect((await running.finish()).bytes).toBe(13);
    await running.discard();
  });

  it("removes contents without a file after an hour, and keeps all others", async () => {
    const [kept, orphan] = [await addFile(store, "kept"), await addFile(store, "orphan")];
    await database.db.execute(sql`delete from files where id = ${orphan.id}`);
    await cleanUpFiles(store);
    expect(isThere(orphan)).toBe(true);
    aheadMs = 2 * HOUR_MS;
    await cleanUpFiles(store);
    expect([isThere(orphan), isThere(kept)]).toEqual([false, true]);
  });

  it("waits for a backup, unless it was killed", async () => {
    const file = await addFile(store, "held");
    const hold = await holdRemoval(store.originals.folder);
    await deleteFile(store, actorOf(administrator), file.id);
    expect(isThere(file)).toBe(true);
    await hold.end();
    const killed = join(folder, "files", `${"k".repeat(22)}.hold`);
    writeFileSync(killed, "");
    utimesSync(killed, 1, 1);
    aheadMs = 2 * HOUR_MS;
    await cleanUpFiles(store);
    expect([isThere(file), existsSync(killed)]).toEqual([false, false]);
  });
});

describe("4.6 FILES_DIR", () => {
  it("may be any folder before the first file, and only that one while there are files", async () => {
    const elsewhere = createFileStore(database, await mkdtemp(join(tmpdir(), "other-")), clock);
    const refuse = (one: FileStore) => refuseOtherFolder(database.db, one.originals.folder);
    await refuse(store);
    await refuse(elsewhere);
    const file = await addFile(store, "the first");
    await refuse(store);
    await expect(refuse(elsewhere)).rejects.toThrow(/FILES_DIR.*every replica shares/);
    const refused = { code: "storage_unavailable", message: expect.stringContaining("FILES_DIR") };
    await expect(addFile(elsewhere, "the second")).rejects.toMatchObject(refused);
    await deleteFile(store, actorOf(administrator), file.id);
    await refuse(elsewhere);
    await addFile(elsewhere, "the first again");
    await expect(addFile(store, "the second")).rejects.toMatchObject(refused);
  });

  it("that many use at once for the first time has one id", async () => {
    const contents = Array.from({ length: 6 }, (_, index) => `first ${index}`);
    const added = await Promise.all(contents.map((content) => addFile(store, content)));
    expect(added).toHaveLength(6);
    await refuseOtherFolder(database.db, store.originals.folder);
  });

  it("that cannot be used is storage_unavailable, with the reason", async () => {
    const file = await addFile(store, "readable");
    await rename(join(folder, "files"), join(folder, "away"));
    await expect(findOriginal(store, file)).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringContaining("ENOENT"),
    });
    await rename(join(folder, "away"), join(folder, "files"));
    writeFileSync(store.originals.pathOf(file.sha256), "cut");
    await expect(findOriginal(store, file)).rejects.toMatchObject({ code: "storage_unavailable" });
  });

  it("that is full is storage_unavailable, and leaves neither row nor content", async () => {
    const draft = await store.originals.begin();
    const content = await draft.finish();
    const full = Object.assign(new Error("no space"), { code: "ENOSPC", syscall: "rename" });
    const fields = { filename: "a", purpose: "assistants", ownerId: "usr_1" };
    const adding = createFile(
      store,
      { draft: { moveTo: () => Promise.reject(full) }, content },
      { ...fields, visibility: "private" },
    );
    await expect(adding).rejects.toMatchObject({
      code: "storage_unavailable",
      message: expect.stringContaining("disk of FILES_DIR is full"),
    });
    await draft.discard();
    expect(await database.db.select().from(files)).toEqual([]);
    expect([isThere(content), drafts()]).toEqual([false, []]);
  });

  it("keeps no content whose row could not be inserted", async () => {
    const adding = addFile(store, "of nobody", { ownerId: "usr_of_nobody" });
    await expect(adding).rejects.toThrow();
    expect(readdirSync(join(folder, "files"), { recursive: true }).join()).not.toMatch(
      /[0-9a-f]{64}/,
    );
  });
});
