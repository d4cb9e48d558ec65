import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asc, eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import {
  chunks,
  fileBatches,
  files,
  vectorStoreFiles,
  vectorStores,
} from "../../../src/db/tables/knowledge.ts";
import {
  createFolderBatch,
  enqueueFollowing,
} from "../../../src/knowledge/ingest/ingestion-jobs.ts";
import { expireStores } from "../../../src/knowledge/stores/expire-stores.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  openWatchedFolders,
  type WatchedFolders,
} from "../../../src/queue/watched-folders/open-watched-folders.ts";
import {
  type IngestReplica,
  type IngestStage,
  longText,
  openIngestStage,
} from "../../support/stages/knowledge/ingest-stage.ts";
import { forgetWatched, passLook } from "../../support/stages/watched-stage.ts";

const MINUTE_MS = 60_000;
/** Of 500 files, on a machine that does much else. */
const WAIT = { timeout: 300_000, interval: 50 };
vi.setConfig({ testTimeout: 900_000 });
const MAX_BYTES = 10_000_000;
let stage: IngestStage;
let folder: string;
let replica: IngestReplica;
let watch: WatchedFolders | undefined;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "followed-"));
  stage = await openIngestStage({ WATCH_DIRS: folder, FILE_MAX_BYTES: `${MAX_BYTES}` });
});
beforeEach(async () => {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await forgetWatched(stage.database);
  replica = await stage.startReplica();
});
afterEach(async () => {
  await watch?.close();
  watch = undefined;
  await replica.close();
});
afterAll(async () => {
  await stage.close();
  await rm(folder, { recursive: true, force: true });
});

const name = () => folder.slice(folder.lastIndexOf("/") + 1);
const put = async (path: string, text: string) => {
  await mkdir(join(folder, path, ".."), { recursive: true });
  await writeFile(join(folder, path), text);
};

/** Watches the folder as the server does; a file is complete as soon as it is seen. */
function startWatch(): void {
  watch = openWatchedFolders({
    settings: { ...stage.settings, WATCH_INTERVAL_MS: 20, WATCH_SETTLE_MS: 1 },
    db: stage.database.db,
    clock: { now: () => Date.now() },
    log: createLog("silent"),
    onFired: () => replica.wakeEvents(),
  });
}

/** The first scan fires no event: what the folder has by then is found by comparing. */
async function startFollowing(): Promise<void> {
  startWatch();
  await passLook(() => watch?.list() ?? []);
  await replica.runJobs();
}

const followingStore = () => stage.createStore({ folderConnection: name(), folderGlob: "docs/**" });

/** Paths and texts that are found, in the order of the paths. */
async function found(store: string): Promise<Record<string, string>> {
  const rows = await stage.database.db
    .select({ path: vectorStoreFiles.sourcePath, text: chunks.text })
    .from(chunks)
    .innerJoin(vectorStoreFiles, eq(vectorStoreFiles.fileId, chunks.fileId))
    .where(
      sql`${vectorStoreFiles.vectorStoreId} = ${store} and ${vectorStoreFiles.status} = 'completed'`,
    )
    .orderBy(asc(vectorStoreFiles.sourcePath), asc(chunks.position));
  return Object.fromEntries(rows.map(({ path, text }) => [path ?? "", text]));
}

/** As if the files had been added before. */
const putBack = (ms: number) =>
  stage.database.db.update(vectorStoreFiles).set({ createdAt: new Date(Date.now() - ms) });

const untilFound = (store: string, texts: Record<string, string>) =>
  vi.waitFor(async () => expect(await found(store)).toEqual(texts), WAIT);

describe("a store that follows a folder", () => {
  test("tries a file again an hour after the engine has failed it, and no file that failed by itself", async () => {
    await put("docs/a.txt", "A text.");
    await put("docs/b.txt", " ");
    const store = await followingStore();
    const path = "/v1/embeddings";
    const respond = { status: 404, body: { error: { message: "There is no such model." } } };
    stage.simulator.script({ match: { path }, times: "always", respond });
    await startFollowing();
    const ended = async () => (await stage.filesOf(store)).map((file) => file.errorCode).sort();
    await vi.waitFor(
      async () => expect(await ended()).toEqual(["server_error", "unsupported_file"]),
      WAIT,
    );
    stage.simulator.reset();
    const { db } = stage.database;
    await putBack(59 * MINUTE_MS);
    const failed = await stage.filesOf(store);
    // The file that comes with it shows that the store has been compared with the folder.
    await put("docs/c.txt", "Another text.");
    await untilFound(store, { "docs/c.txt": "Another text." });
    expect(await stage.filesOf(store)).toEqual(expect.arrayContaining([...failed]));
    await putBack(61 * MINUTE_MS);
    const unsupported = await db
      .select()
      .from(vectorStoreFiles)
      .where(eq(vectorStoreFiles.errorCode, "unsupported_file"));
    await replica.runJobs();
    await untilFound(store, { "docs/a.txt": "A text.", "docs/c.txt": "Another text." });
    const after = await stage.filesOf(store);
    expect(after).toHaveLength(3);
    expect(after).toEqual(expect.arrayContaining(unsupported));
  });

  test("has its files added, changed, renamed and deleted as they are in the folder", async () => {
    await put("docs/a.txt", "The first text.");
    await put("other/x.txt", "Not followed.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/a.txt": "The first text." });
    await put("docs/deep/b.txt", "The second text.");
    await untilFound(store, {
      "docs/a.txt": "The first text.",
      "docs/deep/b.txt": "The second text.",
    });
    await put("docs/a.txt", "The first text, changed.");
    await untilFound(store, {
      "docs/a.txt": "The first text, changed.",
      "docs/deep/b.txt": "The second text.",
    });
    expect(await stage.filesOf(store)).toHaveLength(2);
    await rename(join(folder, "docs/deep/b.txt"), join(folder, "docs/c.txt"));
    await untilFound(store, {
      "docs/a.txt": "The first text, changed.",
      "docs/c.txt": "The second text.",
    });
    await rm(join(folder, "docs/a.txt"));
    await untilFound(store, { "docs/c.txt": "The second text." });
  });

  test("shows the earlier version until the new one is whole, and never both or none", async () => {
    await put("docs/a.txt", "Version one.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/a.txt": "Version one." });
    const seen = new Set<string>();
    let isOver = false;
    const searching = (async () => {
      while (!isOver) {
        seen.add(JSON.stringify(Object.values(await found(store)).length));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    await put("docs/a.txt", "Version two is here.");
    await untilFound(store, { "docs/a.txt": "Version two is here." });
    isOver = true;
    await searching;
    expect([...seen]).toEqual(["1"]);
    await vi.waitFor(async () => {
      const rows = await stage.database.db.execute(sql`
        select 1 from files where filename = 'a.txt'
          and not exists (select 1 from vector_store_files as used where used.file_id = files.id)`);
      expect(rows).toHaveLength(0);
    }, WAIT);
  });

  test("no longer has a file that has grown above the limit, until it is smaller again", async () => {
    await put("docs/a.txt", "The first text.");
    await put("docs/b.txt", "The second text.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/a.txt": "The first text.", "docs/b.txt": "The second text." });
    await put("docs/a.txt", "x".repeat(MAX_BYTES + 1));
    await untilFound(store, { "docs/b.txt": "The second text." });
    await put("docs/a.txt", "Short again.");
    await untilFound(store, { "docs/a.txt": "Short again.", "docs/b.txt": "The second text." });
  });

  test("takes what changed while the server was down", async () => {
    await put("docs/kept.txt", "Kept.");
    await put("docs/gone.txt", "Gone soon.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/gone.txt": "Gone soon.", "docs/kept.txt": "Kept." });
    await watch?.close();
    await replica.close();
    await rm(join(folder, "docs/gone.txt"));
    await put("docs/new.txt", "New.");
    replica = await stage.startReplica();
    startWatch();
    await untilFound(store, { "docs/kept.txt": "Kept.", "docs/new.txt": "New." });
  });

  test("is not filled again when it has expired", async () => {
    await put("docs/a.txt", "The first text.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/a.txt": "The first text." });
    const { db } = stage.database;
    const before = await db.$count(files);
    const expiresAt = new Date(Date.now() - 1_000);
    await db.update(vectorStores).set({ expiresAt }).where(eq(vectorStores.id, store));
    await expireStores(db, Date.now());
    expect(await db.$count(files)).toBe(before - 1);
    await replica.runJobs();
    // As one that was stored before it expired.
    await withTransaction(db, (transaction) => enqueueFollowing(transaction, [store], Date.now()));
    replica.ingestion.wake();
    await vi.waitFor(async () => {
      const waiting = await db.execute(sql`
        select 1 from outbox_events where kind = 'follow' and delivered_at is null`);
      expect(waiting).toHaveLength(0);
    }, WAIT);
    expect(await stage.filesOf(store)).toEqual([]);
    expect(await db.$count(files)).toBe(before - 1);
  });

  test("loses nothing while the folder is away", async () => {
    await put("docs/kept.txt", "Kept.");
    const store = await followingStore();
    await startFollowing();
    await untilFound(store, { "docs/kept.txt": "Kept." });
    await rename(folder, `${folder}-away`);
    await vi.waitFor(() => expect(watch?.list()[0]?.state).toBe("away"), WAIT);
    await replica.runJobs();
    expect(await found(store)).toEqual({ "docs/kept.txt": "Kept." });
    await rename(`${folder}-away`, folder);
  });
});

describe("a batch of a folder", () => {
  const createBatch = (vectorStoreId: string, glob: string) =>
    withTransaction(stage.database.db, (transaction) =>
      createFolderBatch(transaction, { vectorStoreId, fileConnection: name(), glob }, Date.now()),
    );
  const untilReported = async (id: string) =>
    vi.waitFor(async () => {
      const [batch] = await stage.database.db
        .select()
        .from(fileBatches)
        .where(eq(fileBatches.id, id));
      expect(batch?.reportedAt).not.toBeNull();
      return batch;
    }, WAIT);

  test("adds new and changed files of the pattern, and only those", async () => {
    await put("docs/a.txt", longText(2, "a"));
    await put("docs/b.md", "# B\n\nText of b.");
    await put("docs/c.txt", "Text of c.");
    const secret = join(stage.dataDir, "secret.txt");
    await writeFile(secret, "outside");
    await symlink(secret, join(folder, "docs/link.txt"));
    const store = await stage.createStore();
    const first = await createBatch(store, "docs/*.txt");
    replica.ingestion.wake();
    expect(await untilReported(first)).toMatchObject({ remaining: 0 });
    expect(Object.keys(await found(store))).toEqual(["docs/a.txt", "docs/c.txt"]);
    await put("docs/c.txt", "Text of c, changed.");
    await utimes(join(folder, "docs/c.txt"), 1_800_000_000, 1_800_000_000);
    const second = await createBatch(store, "docs/");
    replica.ingestion.wake();
    await untilReported(second);
    expect(await found(store)).toMatchObject({
      "docs/b.md": "Text of b.",
      "docs/c.txt": "Text of c, changed.",
    });
    expect(await stage.filesOf(store)).toHaveLength(3);
    const reports = await stage.reports(store);
    expect(reports).toMatchObject([
      { batch_id: first, completed: 2 },
      { batch_id: second, completed: 2 },
    ]);
  });

  test("makes files that only the store's owner and administrators use, whoever reads the store", async () => {
    await put("docs/a.txt", "The first text.");
    const store = await stage.createStore({ visibility: "everyone" });
    const batch = await createBatch(store, "docs/");
    replica.ingestion.wake();
    await untilReported(batch);
    const [entry] = await stage.filesOf(store);
    const made = await stage.database.db
      .select()
      .from(files)
      .where(eq(files.id, entry?.fileId ?? ""));
    expect(made).toMatchObject([{ visibility: "private", ownerId: null, filename: "a.txt" }]);
  });

  test("replaces a file that the engine's fault or a cancelling had ended", async () => {
    await put("docs/a.txt", "Text of a.");
    const store = await stage.createStore();
    const { db } = stage.database;
    for (const state of [
      { status: "failed", errorCode: "server_error" },
      { status: "cancelled", errorCode: null },
    ] as const) {
      const before = await createBatch(store, "docs/");
      replica.ingestion.wake();
      await untilReported(before);
      await db.update(vectorStoreFiles).set(state).where(eq(vectorStoreFiles.vectorStoreId, store));
      const count = await db.$count(files);
      const again = await createBatch(store, "docs/");
      replica.ingestion.wake();
      await untilReported(again);
      expect(await stage.filesOf(store)).toMatchObject([{ batchId: again, status: "completed" }]);
      expect(await found(store)).toEqual({ "docs/a.txt": "Text of a." });
      await vi.waitFor(async () => expect(await db.$count(files)).toBe(count), WAIT);
    }
  });

  test("leaves one copy of a file that cannot be read, however often it changes, and what was found", async () => {
    const { db } = stage.database;
    const store = await stage.createStore();
    for (const content of ["Text of a.", "\0\x01", "\0\x01\x02", "\0\x01\x02\x03"]) {
      await put("docs/unread.txt", content);
      const batch = await createBatch(store, "docs/");
      replica.ingestion.wake();
      await untilReported(batch);
    }
    const left = [{ status: "completed" }, { status: "failed", sourceSize: 4 }];
    expect(await stage.filesOf(store)).toMatchObject(left);
    expect(await found(store)).toEqual({ "docs/unread.txt": "Text of a." });
    const copies = () => db.$count(files, eq(files.filename, "unread.txt"));
    await vi.waitFor(async () => expect(await copies()).toBe(left.length), WAIT);
  });

  test("of a pattern without files is reported as empty", async () => {
    const store = await stage.createStore();
    const batch = await createBatch(store, "nothing/*");
    replica.ingestion.wake();
    await untilReported(batch);
    expect(await stage.reports(store)).toMatchObject([
      { batch_id: batch, completed: 0, failed: 0 },
    ]);
  });

  /** The last one, for the files that it adds stay in the queue: what becomes of a file is shown above. */
  test("takes the first 500 by path, and says how many are left for further batches", async () => {
    await replica.close();
    replica = await stage.startReplica({ around: { readChunks: () => untilAborted } });
    const untilListed = (id: string) =>
      vi.waitFor(async () => {
        const { db } = stage.database;
        const [batch] = await db.select().from(fileBatches).where(eq(fileBatches.id, id));
        expect(batch?.listedAt).not.toBeNull();
        return batch;
      }, WAIT);
    const names = Array.from(
      { length: 503 },
      (_, index) => `many/${String(index).padStart(4, "0")}.txt`,
    );
    await mkdir(join(folder, "many"));
    await Promise.all(names.map((path) => put(path, `Text of ${path}.`)));
    const store = await stage.createStore();
    const batch = await createBatch(store, "many/");
    replica.ingestion.wake();
    expect(await untilListed(batch)).toMatchObject({ remaining: 3 });
    const paths = (await stage.filesOf(store)).map(({ sourcePath }) => sourcePath);
    expect(paths.sort()).toEqual(names.slice(0, 500));
    const rest = await createBatch(store, "many/");
    replica.ingestion.wake();
    expect(await untilListed(rest)).toMatchObject({ remaining: 0 });
    expect(await stage.filesOf(store)).toHaveLength(503);
  });
});

function untilAborted(_file: unknown, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
