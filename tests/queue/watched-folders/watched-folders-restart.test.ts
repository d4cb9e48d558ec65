import { execFile } from "node:child_process";
import { appendFile, mkdir, mkdtemp, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { watchedFiles, watchedFolders } from "../../../src/db/tables/watched-files.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  openWatchedFolders,
  type WatchedFolders,
} from "../../../src/queue/watched-folders/open-watched-folders.ts";
import { folderReaders } from "../../support/faults/folder-readers.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import {
  openSeverableDatabase,
  type SeverableDatabase,
} from "../../support/servers/databases/severable-database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { firedIn } from "../../support/stages/watched-events.ts";
import {
  createSteadyClock,
  forgetWatched,
  passLook,
  passSettling,
  WATCH_TIMES,
} from "../../support/stages/watched-stage.ts";

vi.setConfig({ testTimeout: 300_000 });

const WAIT = { timeout: 180_000, interval: 50 };
/** For a reader that hangs; otherwise it is longer than any wait here. */
const SHORT_ANSWER_MS = 2_000;
/** More than one page of known files, and several parts of a walk. */
const FILES = trialSize(2_400, 5_000);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

type OnFinished = (release: () => Promise<void>) => void;

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(() => forgetWatched(database));
afterAll(() => database.close());

/** A folder of its own, and the database without what an earlier case left. */
async function openStage(onFinished: OnFinished, answerMs = WATCH_TIMES.WATCH_ANSWER_TIMEOUT_MS) {
  const steady = createSteadyClock();
  const root = await mkdtemp(join(tmpdir(), "watched-"));
  const folder = join(root, "inbox");
  await mkdir(folder);
  const lines: string[] = [];
  const log = createLog("info", { write: (line: string) => void lines.push(line) });
  let open: WatchedFolders | undefined;
  let aheadMs = 0;
  const openOn = (folders: readonly string[], redisUrl?: string) =>
    openWatchedFolders({
      settings: {
        ...WATCH_TIMES,
        ...{ WATCH_DIRS: [...folders], DATABASE_URL: undefined, REDIS_URL: redisUrl },
        WATCH_ANSWER_TIMEOUT_MS: answerMs,
      },
      db: database.db,
      clock: { now: () => Date.now() + aheadMs },
      steadyNow: steady.now,
      log,
      onFired: () => undefined,
    });
  const fired = async () => (await firedIn(database, folder)).sort();
  const until = (state: string) =>
    vi.waitFor(() => {
      for (const watched of open?.list() ?? []) expect(watched.state).toBe(state);
    }, WAIT);
  const stop = async () => {
    await open?.close();
    open = undefined;
  };
  onFinished(async () => {
    await stop();
    await rm(root, { recursive: true, force: true });
  });
  const list = () => open?.list() ?? [];
  const settle = () => passSettling(list, steady);
  return {
    root,
    folder,
    at: (path: string) => join(folder, path),
    fired,
    until,
    stop,
    list,
    settle,
    warnings: () => lines.filter((line) => line.includes('"level":"warn"')),
    folders: () => database.db.select().from(watchedFolders),
    /** Of all folders and files that are known. */
    rows: async () => [
      ...(await database.db.select().from(watchedFolders)),
      ...(await database.db.select().from(watchedFiles)),
    ],
    /** A server starts, and looks for the first time. */
    async start(folders: readonly string[] = [folder], state = "watched") {
      open = openOn(folders);
      await until(state);
    },
    /** Another replica, which names no folder, starts and stops. */
    otherStarts: () => openOn([], "redis://127.0.0.1:1").close(),
    passTime(ms: number) {
      aheadMs += ms;
    },
    /** For looks that may fail meanwhile. */
    untilFired: (events: readonly string[]) =>
      vi.waitFor(async () => {
        steady.advance(WATCH_TIMES.WATCH_SETTLE_MS);
        expect(await fired()).toEqual(events);
      }, WAIT),
    /** All events, once what has changed has settled and nothing more comes. */
    async settled() {
      await settle();
      return fired();
    },
  };
}

/** One whose folder holds three files. */
async function openFilledStage(onFinished: OnFinished, answerMs?: number) {
  const stage = await openStage(onFinished, answerMs);
  for (const name of ["a", "b", "c"]) await writeFile(stage.at(name), name);
  return { ...stage, away: join(stage.root, "elsewhere") };
}

describe("a folder that is watched for the first time ever", () => {
  test("fires nothing for what is there, and everything that comes later", async ({
    onTestFinished,
  }) => {
    const { at, fired, start, settled, settle } = await openStage(onTestFinished);
    await mkdir(at("sub"));
    for (const name of ["a.csv", "sub/b.csv"]) await writeFile(at(name), name);
    await start();
    await settle();
    expect(await fired()).toEqual([]);
    await writeFile(at("sub/c.csv"), "c");
    expect(await settled()).toEqual(["created sub/c.csv 1"]);
  });

  test("fires nothing for what is there when the first look was cut off before", async ({
    onTestFinished,
  }) => {
    const { folder, at, fired, start, settle } = await openStage(onTestFinished);
    for (const name of ["a.csv", "b.csv"]) await writeFile(at(name), name);
    // As a kill in the middle leaves it: some files are written down, one of them is gone since.
    const row = { folder, size: 5, modifiedAt: new Date() };
    await database.db
      .insert(watchedFiles)
      .values(["a.csv", "gone"].map((path) => ({ ...row, path })));
    await start();
    await settle();
    expect(await fired()).toEqual([]);
  });

  test("may be missing at the start, which is said once, and be there later", async ({
    onTestFinished,
  }) => {
    const { folder, at, until, warnings, start, settled, settle } = await openStage(onTestFinished);
    await rm(folder, { recursive: true });
    await start([folder], "away");
    await settle();
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toContain("ENOENT");
    // In one step, or the first look may find it empty.
    await mkdir(`${folder}.new`);
    await writeFile(join(`${folder}.new`, "first.csv"), "x");
    await rename(`${folder}.new`, folder);
    await until("watched");
    await writeFile(at("second.csv"), "xy");
    expect(await settled()).toEqual(["created second.csv 2"]);
  });
});

describe("a server that starts again", () => {
  test("fires once for what came, changed or went meanwhile, and not again at the next start", async ({
    onTestFinished,
  }) => {
    const { at, fired, stop, start, settled, settle } = await openStage(onTestFinished);
    for (const name of ["same", "changed", "touched", "gone"]) await writeFile(at(name), name);
    await start();
    await stop();
    await appendFile(at("changed"), "!");
    await utimes(at("touched"), 1_700_000_000, 1_700_000_000);
    await rm(at("gone"));
    await writeFile(at("new"), "new");
    await start();
    const expected = [
      "created new 3",
      "deleted gone 4",
      "modified changed 8",
      "modified touched 7",
    ];
    expect(await settled()).toEqual(expected);
    await stop();
    await start();
    await settle();
    expect(await fired()).toEqual(expected);
  });

  test("fires for the first files of a folder that was empty when it was first watched", async ({
    onTestFinished,
  }) => {
    const { at, stop, start, settled } = await openStage(onTestFinished);
    await start();
    await stop();
    await writeFile(at("first"), "x");
    await start();
    expect(await settled()).toEqual(["created first 1"]);
  });

  test("knows a folder however it is named: relative to where it was started, or twice", async ({
    onTestFinished,
  }) => {
    const { folder, at, stop, list, start, settled } = await openStage(onTestFinished);
    await writeFile(at("a"), "a");
    await start([relative(process.cwd(), folder), `${folder}/`, folder]);
    expect(list().map((watched) => watched.folder)).toEqual([folder]);
    await stop();
    await writeFile(at("b"), "b");
    await start();
    expect(await settled()).toEqual(["created b 1"]);
  });

  test("without a folder forgets it without events, and begins with it anew", async ({
    onTestFinished,
  }) => {
    const { root, folder, at, fired, stop, rows, start, settle } = await openStage(onTestFinished);
    const other = join(root, "other");
    await mkdir(other);
    for (const place of [folder, other]) await writeFile(join(place, "a"), "a");
    await start([folder, other]);
    await stop();
    await start([other]);
    await vi.waitFor(async () => {
      expect(new Set((await rows()).map((row) => row.folder))).toEqual(new Set([other]));
    }, WAIT);
    await stop();
    await start([]);
    await vi.waitFor(async () => expect(await rows()).toEqual([]), WAIT);
    await stop();
    await rm(at("a"));
    await writeFile(at("b"), "b");
    await start();
    await settle();
    expect(await fired()).toEqual([]);
    expect(await firedIn(database, other)).toEqual([]);
  });
});

describe("a folder that is away", () => {
  test("fires nothing, and when it is back only what has changed meanwhile", async ({
    onTestFinished,
  }) => {
    const { folder, fired, until, list, warnings, start, settled, away, settle } =
      await openFilledStage(onTestFinished);
    await start();
    await rename(folder, away);
    await until("away");
    await rm(join(away, "a"));
    await writeFile(join(away, "d"), "dd");
    await settle();
    expect(await fired()).toEqual([]);
    expect(warnings()).toHaveLength(1);
    await rename(away, folder);
    expect(await settled()).toEqual(["created d 2", "deleted a 1"]);
    expect(list()[0]).toMatchObject({ state: "watched", cause: null });
  });

  test("is so too while an empty folder is in its place, as under a mount that is gone", async ({
    onTestFinished,
  }) => {
    const { folder, at, fired, until, stop, list, rows, start, settled, away, settle } =
      await openFilledStage(onTestFinished);
    await start();
    await rename(folder, away);
    await mkdir(folder);
    await until("away");
    // What is written there by mistake is not of the folder that is watched.
    await writeFile(at("stray"), "x");
    await settle();
    expect(list()[0]?.cause).toContain("another folder is in its place");
    await stop();
    await start([folder], "away");
    await settle();
    expect(await fired()).toEqual([]);
    expect(await rows()).toHaveLength(4);
    await rm(folder, { recursive: true });
    await rename(away, folder);
    await until("watched");
    await writeFile(at("d"), "dd");
    expect(await settled()).toEqual(["created d 2"]);
  });

  test("is back in another place when files of it are there, as after it was mounted anew", async ({
    onTestFinished,
  }) => {
    const { root, folder, at, stop, start, settled, away } = await openFilledStage(onTestFinished);
    await start();
    await stop();
    await promisify(execFile)("cp", ["-a", folder, away]);
    await rename(folder, join(root, "old"));
    await rename(away, folder);
    await rm(at("b"));
    await start();
    expect(await settled()).toEqual(["deleted b 1"]);
    await stop();
    await rm(at("a"));
    await rm(at("c"));
    // By now this is the folder that is known.
    await start();
    expect(await settled()).toEqual(["deleted a 1", "deleted b 1", "deleted c 1"]);
  });

  test("may be another one from then on, when none of its files were left", async ({
    onTestFinished,
  }) => {
    const { folder, at, start, settled, away } = await openFilledStage(onTestFinished);
    await start();
    for (const name of ["a", "b", "c"]) await rm(at(name));
    const deleted = ["deleted a 1", "deleted b 1", "deleted c 1"];
    expect(await settled()).toEqual(deleted);
    await rename(folder, away);
    await mkdir(folder);
    await writeFile(at("d"), "dd");
    expect(await settled()).toEqual(["created d 2", ...deleted]);
  });

  test("is looked at for the first time when it comes, where an empty mount point was there before", async ({
    onTestFinished,
  }) => {
    const { folder, at, fired, until, start, stop, settle, settled, away } =
      await openFilledStage(onTestFinished);
    await rename(folder, away);
    await mkdir(folder);
    await start();
    await until("watched");
    await stop();
    await rm(folder, { recursive: true });
    await rename(away, folder);
    await start();
    await settle();
    expect(await fired()).toEqual([]);
    await writeFile(at("d"), "dd");
    expect(await settled()).toEqual(["created d 2"]);
  });

  test("is so while it does not answer, and is not asked again and again", async ({
    onTestFinished,
  }) => {
    const { folder, at, fired, until, list, start, untilFired } = await openFilledStage(
      onTestFinished,
      SHORT_ANSWER_MS,
    );
    await start();
    const [reader] = await folderReaders(folder);
    process.kill(reader ?? 0, "SIGSTOP");
    try {
      await writeFile(at("d"), "dd");
      await until("away");
      expect(list()[0]?.cause).toContain("no answer");
      await passLook(list);
      expect(await folderReaders(folder)).toEqual([reader]);
      expect(await fired()).toEqual([]);
    } finally {
      process.kill(reader ?? 0, "SIGCONT");
    }
    await untilFired(["created d 2"]);
  });

  test("is not forgotten by a replica that does not name it, until none has named it for a day", async ({
    onTestFinished,
  }) => {
    const stage = await openFilledStage(onTestFinished);
    const { folder, at, until, stop, folders, rows, start, settled, otherStarts, passTime, away } =
      stage;
    await start();
    await rename(folder, away);
    await until("away");
    const before = Date.now();
    passTime(DAY_MS + HOUR_MS);
    // As long as the one that names it is there, whether it sees the folder or not.
    await vi.waitFor(async () => {
      const [named] = await folders();
      expect(named?.namedAt.getTime()).toBeGreaterThan(before + DAY_MS);
    }, WAIT);
    await otherStarts();
    expect(await rows()).toHaveLength(4);
    await rename(away, folder);
    await writeFile(at("d"), "dd");
    expect(await settled()).toEqual(["created d 2"]);
    await stop();
    await otherStarts();
    expect(await rows()).toHaveLength(5);
    passTime(DAY_MS + HOUR_MS);
    await otherStarts();
    expect(await rows()).toEqual([]);
  });

  test("is looked at again when the process that looks is lost", async ({ onTestFinished }) => {
    const { folder, at, stop, start, settled } = await openFilledStage(onTestFinished);
    await start();
    const [reader] = await folderReaders(folder);
    process.kill(reader ?? 0, "SIGKILL");
    await writeFile(at("d"), "dd");
    expect(await settled()).toEqual(["created d 2"]);
    await stop();
    await vi.waitFor(async () => expect(await folderReaders(folder)).toEqual([]), WAIT);
  });
});

describe("very many files", () => {
  test(`${FILES} that come at once fire once each, and so do those that go`, async ({
    onTestFinished,
  }) => {
    const { at, start, settled } = await openStage(onTestFinished);
    await start();
    const names = Array.from({ length: FILES }, (_, index) => `${index % 20}/${index}.csv`);
    for (let index = 0; index < 20; index += 1) await mkdir(at(`${index}`));
    for (const name of names) await writeFile(at(name), "x");
    expect(await settled()).toEqual(names.map((name) => `created ${name} 1`).sort());
    await rm(at("7"), { recursive: true });
    const deleted = (await settled()).filter((event) => event.startsWith("deleted"));
    const inSeven = names.filter((name) => name.startsWith("7/"));
    expect(deleted).toEqual(inSeven.map((name) => `deleted ${name} 1`).sort());
  });
});

describe.runIf(databaseServerUrl !== undefined)("a folder whose database is away", () => {
  test("fires once for what came meanwhile, when both are back", async ({ onTestFinished }) => {
    const { folder, at } = await openStage(onTestFinished);
    const severable = (await openSeverableDatabase()) as SeverableDatabase;
    onTestFinished(() => severable.remove());
    const settings = { DB_POOL_MAX: 4, DB_POOL_WAIT_MS: 2_000 };
    const database = await openPostgres(severable.url, settings, createLog("silent"));
    onTestFinished(() => database.close());
    await migrate(database);
    const lines: string[] = [];
    const steady = createSteadyClock();
    const open = openWatchedFolders({
      settings: { ...WATCH_TIMES, WATCH_DIRS: [folder], DATABASE_URL: severable.url },
      db: database.db,
      clock: { now: () => Date.now() },
      steadyNow: steady.now,
      log: createLog("info", { write: (line: string) => void lines.push(line) }),
      onFired: () => undefined,
    });
    onTestFinished(() => open.close());
    const until = (state: string) =>
      vi.waitFor(() => expect(open.list()[0]?.state).toBe(state), WAIT);
    await until("watched");
    await severable.connection.down();
    await writeFile(at("a"), "a");
    await until("waiting");
    await passLook(open.list);
    expect(lines.filter((line) => line.includes('"level":"warn"'))).toHaveLength(1);
    await severable.connection.up();
    await vi.waitFor(async () => {
      steady.advance(WATCH_TIMES.WATCH_SETTLE_MS);
      expect(await firedIn(database, folder)).toEqual(["created a 1"]);
    }, WAIT);
    expect(open.list()[0]).toMatchObject({ state: "watched", cause: null });
    await passSettling(open.list, steady);
    expect(await firedIn(database, folder)).toEqual(["created a 1"]);
  });
});
