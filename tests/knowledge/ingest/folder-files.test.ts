import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { and, eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceError } from "../../../src/core/service-error.ts";
import { withTransaction } from "../../../src/db/context.ts";
import { DatabaseError } from "../../../src/db/database-error.ts";
import {
  fileBatches,
  files,
  vectorStoreFiles,
  vectorStores,
} from "../../../src/db/tables/knowledge.ts";
import { openFileConnections } from "../../../src/knowledge/file-connections.ts";
import { removeEarlierVersions } from "../../../src/knowledge/ingest/chunks/store-chunks.ts";
import { findChanged } from "../../../src/knowledge/ingest/find-changed.ts";
import { listFolderBatch } from "../../../src/knowledge/ingest/folder-batch.ts";
import { forgetFiles } from "../../../src/knowledge/ingest/folder-copies.ts";
import { addFolderFiles, type FolderParts } from "../../../src/knowledge/ingest/folder-files.ts";
import {
  cancelIngestion,
  createFolderBatch,
} from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import { readTarget } from "../../../src/knowledge/ingest/ingestion-target.ts";
import { repairIngestion } from "../../../src/knowledge/ingest/repair-ingestion.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import type { WorkContext } from "../../../src/queue/topic.ts";
import type { SeenFile } from "../../../src/queue/watched-folders/folder-reader.ts";
import { type IngestStage, openIngestStage } from "../../support/stages/knowledge/ingest-stage.ts";

let stage: IngestStage;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "folder-files-"));
  stage = await openIngestStage({ WATCH_DIRS: folder });
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const put = (path: string, text: string) => writeFile(join(folder, path), text);
const contextOf = (signal: AbortSignal): WorkContext => ({
  signal,
  checkpoint: async () => undefined,
  confirm: async () => undefined,
});
const STEADY = contextOf(new AbortController().signal);

/** Takes files without their contents. `onTaken` is called after each. */
function partsOf(onTaken: () => Promise<void> | void = () => undefined): FolderParts {
  const { database, settings } = stage;
  return {
    db: database.db,
    clock: { now: () => Date.now() },
    log: createLog("silent"),
    connections: openFileConnections(settings),
    maxBytes: settings.FILE_MAX_BYTES,
    answerTimeoutMs: 30_000,
    wake: () => undefined,
    async takeFile(_path, { expiresAfter = 0, ...fields }) {
      const id = `file-${randomBase62(22)}`;
      const expiresAt = new Date(Date.now() + expiresAfter * 1_000);
      const content = { sha256: "0".repeat(64), bytes: 1, purpose: "assistants", expiresAt };
      await database.db.insert(files).values({ id, ...fields, ...content });
      await onTaken();
      return id;
    },
  };
}

/** Takes files without their contents, except for one. */
function failingAt(place: number, fault: Error): FolderParts {
  const parts = partsOf();
  let tries = 0;
  return {
    ...parts,
    takeFile(path, fields) {
      tries += 1;
      return tries === place ? Promise.reject(fault) : parts.takeFile(path, fields);
    },
  };
}

const folderOf = async () => ({
  vectorStoreId: await stage.createStore(),
  connection: basename(folder),
  batchId: null,
});

const expires = async (id: string) => {
  const set = { expiresAt: new Date() };
  await stage.database.db.update(vectorStores).set(set).where(eq(vectorStores.id, id));
};

const isIn = (storeId: string) => eq(vectorStoreFiles.vectorStoreId, storeId);

describe("Files of a folder", () => {
  test.each([
    new ServiceError("request_too_large", "It has grown."),
    Object.assign(new Error("open"), { syscall: "open", code: "EACCES" }),
  ])("that cannot be read are skipped, and the others added: $code", async (fault) => {
    await Promise.all(["one.txt", "two.txt"].map((path) => put(path, "x")));
    const of = await folderOf();
    const seen = ["one.txt", "gone.txt", "two.txt"].map((path) => ({
      path,
      size: 1,
      modifiedMs: 1,
    }));
    const adding = addFolderFiles(failingAt(1, fault), of, { seen, context: STEADY });
    expect(await adding).toBe(true);
    expect(await stage.filesOf(of.vectorStoreId)).toMatchObject([{ sourcePath: "two.txt" }]);
  });

  test("expire until the store has them, so that a killed server leaves no copies", async () => {
    await put("kept.txt", "x");
    const { db } = stage.database;
    const copy = eq(files.filename, "kept.txt");
    const expiries = async () => (await db.select().from(files).where(copy)).map(expiryOf);
    const expiryOf = ({ createdAt, expiresAt }: typeof files.$inferSelect) =>
      expiresAt && Math.round((expiresAt.getTime() - createdAt.getTime()) / 3_600_000);
    const whenTaken: unknown[] = [];
    const parts = partsOf(async () => void whenTaken.push(await expiries()));
    const seen = [{ path: "kept.txt", size: 1, modifiedMs: 1 }];
    expect(await addFolderFiles(parts, await folderOf(), { seen, context: STEADY })).toBe(true);
    expect(whenTaken).toEqual([[24]]);
    expect(await expiries()).toEqual([null]);
  });

  test("that are written all the time are taken once for each state in which they are seen", async () => {
    await put("log.txt", "One line more than was seen.");
    const of = await folderOf();
    const { db } = stage.database;
    const seen: SeenFile = { path: "log.txt", size: 8, modifiedMs: 1_700_000_000_000 };
    expect(await addFolderFiles(partsOf(), of, { seen: [seen], context: STEADY })).toBe(true);
    await utimes(join(folder, "log.txt"), 1_800_000_000, 1_800_000_000);
    expect(await findChanged(db, of, [seen])).toEqual([]);
    const later = { ...seen, size: 28, modifiedMs: 1_800_000_000_000 };
    expect(await findChanged(db, of, [later])).toEqual([later]);
  });

  test("are later versions than those before them when the clock was set back", async () => {
    await put("changed.txt", "x");
    const of = await folderOf();
    const { vectorStoreId } = of;
    const { db } = stage.database;
    const seenAs = (size: number): SeenFile => ({ path: "changed.txt", size, modifiedMs: size });
    const addAt = async (now: number, size: number) => {
      const parts = { ...partsOf(), clock: { now: () => now } };
      await addFolderFiles(parts, of, { seen: [seenAs(size)], context: STEADY });
      return (await stage.filesOf(vectorStoreId)).find((file) => file.sourceSize === size);
    };
    const noon = Date.UTC(2026, 10, 23, 12);
    const first = await addAt(noon, 1);
    const second = await addAt(noon - 3_600_000, 2);
    expect(await findChanged(db, of, [seenAs(2)])).toEqual([]);
    const fileId = second?.fileId ?? "";
    const target = await readTarget(db, { vectorStoreId, fileId, generation: 1 });
    if (target === undefined) throw new Error("the second version is not to be ingested");
    const replaced = await withTransaction(db, (transaction) =>
      removeEarlierVersions(transaction, target),
    );
    expect(replaced).toEqual([first?.fileId]);
  });

  describe("of which none gets into the store", () => {
    const seen = ["a.txt", "b.txt", "c.txt"].map((path) => ({ path, size: 1, modifiedMs: 1 }));
    const filenames = async () => {
      const rows = await stage.database.db.select({ filename: files.filename }).from(files);
      return rows.map(({ filename }) => filename).filter((name) => /^[abc]\.txt$/.test(name));
    };
    beforeAll(() => Promise.all(seen.map(({ path }) => put(path, "x"))));

    test("leave no copies when the job is aborted between two of them", async () => {
      const job = new AbortController();
      let taken = 0;
      const parts = partsOf(() => {
        taken += 1;
        if (taken === 2) job.abort(new Error("the server stops"));
      });
      const of = await folderOf();
      const adding = addFolderFiles(parts, of, { seen, context: contextOf(job.signal) });
      await expect(adding).rejects.toThrow("the server stops");
      expect(taken).toBe(2);
      expect(await filenames()).toEqual([]);
      await addFolderFiles(partsOf(), of, { seen, context: STEADY });
      expect((await filenames()).sort()).toEqual(["a.txt", "b.txt", "c.txt"]);
      await stage.database.db.delete(files);
    });

    test.each([
      new ServiceError("storage_unavailable", "The disk of FILES_DIR is full."),
      new DatabaseError("57P01", "The database failed with 57P01."),
      Object.assign(new Error("connect"), { syscall: "connect", code: "ECONNREFUSED" }),
      Object.assign(new Error("open"), { syscall: "open", code: "EMFILE" }),
    ])(
      "leave no copies and are tried again when the server can take no file: $code",
      async (fault) => {
        const of = await folderOf();
        const parts = failingAt(2, fault);
        const adding = addFolderFiles(parts, of, { seen, context: STEADY });
        await expect(adding).rejects.toBe(fault);
        expect(await stage.filesOf(of.vectorStoreId)).toEqual([]);
        expect(await filenames()).toEqual([]);
      },
    );

    const goes = async (id: string) =>
      void (await stage.database.db.delete(vectorStores).where(eq(vectorStores.id, id)));
    test.each([
      ["goes", goes],
      ["expires", expires],
    ])("leave no copies when the store %s meanwhile", async (_verb, end) => {
      const of = await folderOf();
      const parts = partsOf(() => end(of.vectorStoreId));
      expect(await addFolderFiles(parts, of, { seen, context: STEADY })).toBe(false);
      expect(await filenames()).toEqual([]);
    });
  });
});

test("Copies that another store takes at the moment they are forgotten stay", async ({ skip }) => {
  const { db, kind } = stage.database;
  skip(kind === "embedded", "the embedded database has one session");
  await put("shared.txt", "x");
  const of = await folderOf();
  const seen = [{ path: "shared.txt", size: 1, modifiedMs: 1 }];
  await addFolderFiles(partsOf(), of, { seen, context: STEADY });
  const [{ fileId } = { fileId: "" }] = await stage.filesOf(of.vectorStoreId);
  const vectorStoreId = await stage.createStore();
  let forgetting: Promise<void> | undefined;
  await withTransaction(db, async (transaction) => {
    await transaction.insert(vectorStoreFiles).values({ vectorStoreId, fileId });
    await transaction.delete(vectorStoreFiles).where(isIn(of.vectorStoreId));
    forgetting = forgetFiles(db, [fileId]);
    await expect
      .poll(async () => {
        const waiting = sql`select 1 from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`;
        return (await db.execute(waiting)).length;
      })
      .toBeGreaterThan(0);
  });
  await forgetting;
  expect(await stage.filesOf(vectorStoreId)).toHaveLength(1);
});

describe("A batch of a folder", () => {
  const paths = Array.from({ length: 25 }, (_, index) => `many/${index + 10}.txt`);
  const readBatch = async (id: string) => {
    const { db } = stage.database;
    const [batch] = await db.select().from(fileBatches).where(eq(fileBatches.id, id));
    return batch;
  };
  const createBatch = async (known?: string) => {
    const { connection, ...made } = await folderOf();
    const vectorStoreId = known ?? made.vectorStoreId;
    const given = { vectorStoreId, fileConnection: connection, glob: "many/*" };
    const batchId = await withTransaction(stage.database.db, (transaction) =>
      createFolderBatch(transaction, given, Date.now()),
    );
    return { vectorStoreId, connection, batchId };
  };
  /** As the route does. */
  const cancel = ({ vectorStoreId, batchId }: { vectorStoreId: string; batchId: string }) =>
    withTransaction(stage.database.db, async (transaction) => {
      await cancelIngestion(transaction, { vectorStoreId, batchId }, Date.now());
      const set = { cancelledAt: new Date() };
      await transaction.update(fileBatches).set(set).where(eq(fileBatches.id, batchId));
    });
  beforeAll(async () => {
    await mkdir(join(folder, "many"));
    await Promise.all(paths.map((path) => put(path, "x")));
  });

  test("that is given up leaves for a further one what it did not add", async () => {
    const { db } = stage.database;
    const { vectorStoreId, batchId } = await createBatch();
    const fault = new ServiceError("storage_unavailable", "The disk of FILES_DIR is full.");
    const listing = listFolderBatch(failingAt(23, fault), { batchId, isLastTry: true }, STEADY);
    await expect(listing).rejects.toBe(fault);
    await db.execute(sql`update outbox_events set dead_at = now() where kind = 'folder'`);
    await repairIngestion(db, Date.now());
    expect(await readBatch(batchId)).toMatchObject({ listedAt: expect.any(Date), remaining: 5 });
    expect(await stage.filesOf(vectorStoreId)).toHaveLength(20);
  });

  test("that is resumed adds the rest, and leaves nothing", async () => {
    const { vectorStoreId, batchId } = await createBatch();
    const fault = new ServiceError("storage_unavailable", "The disk of FILES_DIR is full.");
    const options = { batchId, isLastTry: false };
    await expect(listFolderBatch(failingAt(23, fault), options, STEADY)).rejects.toBe(fault);
    await listFolderBatch(partsOf(), options, STEADY);
    expect(await readBatch(batchId)).toMatchObject({ listedAt: expect.any(Date), remaining: 0 });
    expect(await stage.filesOf(vectorStoreId)).toHaveLength(25);
  });

  test("whose store expires takes no more files, and ends", async () => {
    const { vectorStoreId, batchId } = await createBatch();
    let taken = 0;
    const parts = partsOf(async () => {
      taken += 1;
      if (taken === 22) await expires(vectorStoreId);
    });
    await listFolderBatch(parts, { batchId, isLastTry: false }, STEADY);
    expect(await stage.filesOf(vectorStoreId)).toHaveLength(20);
    expect(await readBatch(batchId)).toMatchObject({ listedAt: expect.any(Date), remaining: 5 });
  });

  test("that is cancelled takes no more files, and ends", async () => {
    const { db } = stage.database;
    const { vectorStoreId, batchId } = await createBatch();
    const before = await db.$count(files);
    let taken = 0;
    const parts = partsOf(async () => {
      taken += 1;
      if (taken === 22) await cancel({ vectorStoreId, batchId });
    });
    await listFolderBatch(parts, { batchId, isLastTry: false }, STEADY);
    const entries = await stage.filesOf(vectorStoreId);
    expect(entries.map(({ status }) => status)).toEqual(Array(20).fill("cancelled"));
    expect((await db.$count(files)) - before).toBe(20);
    expect(await readBatch(batchId)).toMatchObject({
      listedAt: expect.any(Date),
      reportedAt: expect.any(Date),
      remaining: 5,
    });
    expect(await stage.reports(vectorStoreId)).toMatchObject([{ completed: 0, cancelled: 20 }]);
  });

  test.each([
    { status: "failed", errorCode: "server_error", isTaken: true },
    { status: "cancelled", errorCode: null, isTaken: true },
    { status: "failed", errorCode: "invalid_file", isTaken: false },
    { status: "completed", errorCode: null, isTaken: false },
  ] as const)("finds again a file that is $status with $errorCode: $isTaken", async (ended) => {
    const { db } = stage.database;
    const { isTaken, ...state } = ended;
    const { batchId: first, ...of } = await createBatch();
    await listFolderBatch(partsOf(), { batchId: first, isLastTry: false }, STEADY);
    const isMeant = and(
      eq(vectorStoreFiles.vectorStoreId, of.vectorStoreId),
      eq(vectorStoreFiles.sourcePath, "many/12.txt"),
    );
    await db.update(vectorStoreFiles).set(state).where(isMeant);
    // Neither the batch that has tried it nor a store that follows the folder.
    const [row] = await db.select().from(vectorStoreFiles).where(isMeant);
    const { sourceSize: size, sourceModifiedMs: modifiedMs } = row ?? {};
    const seen = [{ path: "many/12.txt", size: size ?? 0, modifiedMs: modifiedMs ?? 0 }];
    expect(await findChanged(db, { ...of, batchId: first }, seen)).toEqual([]);
    expect(await findChanged(db, { ...of, batchId: null }, seen)).toEqual([]);
    const { batchId: second } = await createBatch(of.vectorStoreId);
    await listFolderBatch(partsOf(), { batchId: second, isLastTry: false }, STEADY);
    const entries = (await stage.filesOf(of.vectorStoreId)).slice(25);
    const expected = isTaken ? [{ batchId: second, sourcePath: "many/12.txt" }] : [];
    expect(entries).toMatchObject(expected);
  });
});
