import {
  appendFile,
  link,
  mkdir,
  mkdtemp,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import {
  openWatchedFolders,
  type WatchedFolders,
} from "../../src/events/watched-folders/open-watched-folders.ts";
import { createLog } from "../../src/lib/log.ts";
import { openTestDatabase } from "../support/test-database.ts";
import { firedIn } from "../support/watched-events.ts";

vi.setConfig({ testTimeout: 240_000, maxConcurrency: 20 });

const WAIT = { timeout: 120_000, interval: 100 };
/** Longer than any look takes here: what has not fired by then does not fire. */
const QUIET_MS = 12_000;
const NAMES = [
  "slow",
  "moved",
  "paused",
  "changed",
  "gone",
  "renamed",
  "nested",
  "temporary",
  "links",
  "names",
  "times",
  "replaced",
] as const;

/** Each case has a folder of its own, and all go on at once. */
describe.concurrent("in a watched folder", () => {
  let root: string;
  let database: Database;
  let watched: WatchedFolders;
  const lines: string[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "watched-"));
    database = await openTestDatabase();
    for (const name of NAMES) {
      await mkdir(join(root, name));
      await writeFile(join(root, name, "before.txt"), "there before");
    }
    watched = openWatchedFolders({
      settings: { WATCH_DIRS: NAMES.map((name) => join(root, name)), DATABASE_URL: undefined },
      db: database.db,
      clock: { now: () => Date.now() },
      log: createLog("info", { write: (line: string) => void lines.push(line) }),
      onFired: () => undefined,
    });
    await vi.waitFor(() => {
      expect(watched.list().map(({ state, files }) => [state, files])).toEqual(
        NAMES.map(() => ["watched", 1]),
      );
    }, WAIT);
  });
  afterAll(async () => {
    await watched.close();
    await database.close();
    await rm(root, { recursive: true, force: true });
  });

  const placeOf = (name: (typeof NAMES)[number]) => {
    const folder = join(root, name);
    return {
      folder,
      at: (path: string) => join(folder, path),
      fired: () => firedIn(database, folder),
      /** Waits for so many events, and then for any that should not come. */
      async settled(count: number) {
        await vi.waitFor(async () => {
          expect((await firedIn(database, folder)).length).toBeGreaterThanOrEqual(count);
        }, WAIT);
        await sleep(QUIET_MS);
        return (await firedIn(database, folder)).sort();
      },
    };
  };

  test("a file that is written slowly fires once, when it is whole", async () => {
    const { at, fired, settled } = placeOf("slow");
    for (let second = 0; second < 9; second += 1) {
      await appendFile(at("slow.csv"), "0123456789");
      expect(await fired()).toEqual([]);
      await sleep(1_000);
    }
    expect(await settled(1)).toEqual(["created slow.csv 90"]);
  });

  test("a file that is renamed into its place fires once, under that name", async () => {
    const { at, settled } = placeOf("moved");
    await writeFile(at("upload.csv.part"), "0123456789");
    await sleep(8_000);
    await rename(at("upload.csv.part"), at("upload.csv"));
    expect(await settled(1)).toEqual(["created upload.csv 10"]);
  });

  test("a file whose writer pauses shorter than a file settles fires once, and again when it is continued", async () => {
    const { at, settled } = placeOf("paused");
    await writeFile(at("log.txt"), "first");
    await sleep(3_000);
    await appendFile(at("log.txt"), " second");
    expect(await settled(1)).toEqual(["created log.txt 12"]);
    await appendFile(at("log.txt"), " third");
    expect(await settled(2)).toEqual(["created log.txt 12", "modified log.txt 18"]);
  });

  test("a file that was there before fires only when it changes, if only in its time", async () => {
    const { at, settled } = placeOf("changed");
    await appendFile(at("before.txt"), "!");
    expect(await settled(1)).toEqual(["modified before.txt 13"]);
    await utimes(at("before.txt"), 1_700_000_000, 1_700_000_000);
    expect(await settled(2)).toEqual(["modified before.txt 13", "modified before.txt 13"]);
  });

  test("a file that is deleted fires with what was known of it", async () => {
    const { folder, at, settled } = placeOf("gone");
    await rm(at("before.txt"));
    expect(await settled(1)).toEqual(["deleted before.txt 12"]);
    const rows = await database.db.select().from(outboxEvents);
    const body = rows.find((row) => row.body["folder"] === folder)?.body;
    expect(body).toEqual({
      folder,
      path: "before.txt",
      name: "before.txt",
      size: 12,
      modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      source: "watched_folder",
    });
  });

  test("a file that is renamed is deleted and uploaded, and so are all of a renamed folder", async () => {
    const { at, settled } = placeOf("renamed");
    await rename(at("before.txt"), at("after.txt"));
    expect(await settled(2)).toEqual(["created after.txt 12", "deleted before.txt 12"]);
    await mkdir(at("one"));
    await rename(at("after.txt"), at("one/a.txt"));
    await settled(4);
    await rename(at("one"), at("two"));
    expect(await settled(6)).toEqual([
      "created after.txt 12",
      "created one/a.txt 12",
      "created two/a.txt 12",
      "deleted after.txt 12",
      "deleted before.txt 12",
      "deleted one/a.txt 12",
    ]);
  });

  test("files of folders below fire with their whole path", async () => {
    const { at, settled } = placeOf("nested");
    await mkdir(at("2027/01/02"), { recursive: true });
    await writeFile(at("2027/01/02/a.csv"), "a");
    await writeFile(at("2027/b.csv"), "bb");
    expect(await settled(2)).toEqual(["created 2027/01/02/a.csv 1", "created 2027/b.csv 2"]);
    await rm(at("2027/01"), { recursive: true });
    expect(await settled(3)).toContain("deleted 2027/01/02/a.csv 1");
  });

  test("temporary files and what is in hidden folders fire nothing", async () => {
    const { at, settled } = placeOf("temporary");
    await mkdir(at(".snapshot"));
    await mkdir(at("upload.part"));
    const temporary = [".hidden", "~$letter.docx", "a.part", "A.PART", "b.tmp", "c.crdownload"];
    const more = ["d.csv~", "e.filepart", ".nfs0001", ".snapshot/f.csv", "upload.part/g.csv"];
    for (const name of [...temporary, ...more]) await writeFile(at(name), "x");
    await writeFile(at("partial.csv"), "x");
    expect(await settled(1)).toEqual(["created partial.csv 1"]);
  });

  test("links are not followed, and a link in the place of a folder leads nowhere", async () => {
    const { at, settled } = placeOf("links");
    const outside = await mkdtemp(join(root, "outside-"));
    await mkdir(join(outside, "inner"));
    await writeFile(join(outside, "secret.txt"), "secret");
    await writeFile(join(outside, "inner/a.txt"), "other");
    await symlink(outside, at("folder"));
    await symlink(join(outside, "secret.txt"), at("file.txt"));
    await symlink("..", at("up"));
    await mkdir(at("inner"));
    await writeFile(at("inner/a.txt"), "inner");
    await link(at("before.txt"), at("hard.txt"));
    expect(await settled(2)).toEqual(["created hard.txt 12", "created inner/a.txt 5"]);
    await rm(at("inner"), { recursive: true });
    await symlink(join(outside, "inner"), at("inner"));
    expect(await settled(3)).toContain("deleted inner/a.txt 5");
  });

  test("names of every kind are told as they are", async () => {
    const { at, settled } = placeOf("names");
    const names = [
      "ä.txt".normalize("NFC"),
      "ä.txt".normalize("NFD"),
      "a b'\"\\%\n.txt",
      "😀.txt",
      "$(id)",
    ];
    for (const name of names) await writeFile(at(name), "x");
    await writeFile(Buffer.concat([Buffer.from(at("bad-")), Buffer.from([0xff, 0xfe])]), "x");
    const deep = `${"d".repeat(200)}/`.repeat(8);
    await mkdir(at(deep), { recursive: true });
    await writeFile(at(`${deep}too-deep.txt`), "x");
    expect(await settled(names.length)).toEqual(names.map((name) => `created ${name} 1`).sort());
    const warning = lines.filter((line) => line.includes("left out"));
    expect(warning).toHaveLength(1);
    expect(warning[0]).toContain('"names":2');
  });

  test("files of any time fire once", async () => {
    const { at, settled } = placeOf("times");
    for (const [name, seconds] of [
      ["early", -1e10],
      ["late", 1e11],
      ["half", 1_700_000_000.9999],
    ] as const) {
      await writeFile(at(name), "x");
      await utimes(at(name), seconds, seconds);
    }
    expect(await settled(3)).toEqual(["created early 1", "created half 1", "created late 1"]);
  });

  test("a file that is replaced by a rename, as editors do, is modified and never deleted", async () => {
    const { at, settled } = placeOf("replaced");
    for (let turn = 0; turn < 3; turn += 1) {
      await writeFile(at(".new"), "there again".padEnd(20 + turn, "!"));
      await rm(at("before.txt"));
      await sleep(300);
      await rename(at(".new"), at("before.txt"));
      await sleep(1_000);
    }
    expect(await settled(1)).toEqual(["modified before.txt 22"]);
  });
});
