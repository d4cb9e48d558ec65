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
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  openWatchedFolders,
  type WatchedFolders,
} from "../../../src/queue/watched-folders/open-watched-folders.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { firedIn } from "../../support/stages/watched-events.ts";
import {
  createSteadyClock,
  passLook,
  passSettling,
  WATCH_TIMES,
} from "../../support/stages/watched-stage.ts";

vi.setConfig({ testTimeout: 240_000 });

const WAIT = { timeout: 120_000, interval: 50 };
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

/** Each case has a folder of its own below the one that is watched. */
describe("in a watched folder", () => {
  const clock = createSteadyClock();
  let root: string;
  let inbox: string;
  let database: Database;
  let watched: WatchedFolders;
  const lines: string[] = [];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "watched-"));
    inbox = join(root, "inbox");
    database = await openTestDatabase();
    for (const name of NAMES) {
      await mkdir(join(inbox, name), { recursive: true });
      await writeFile(join(inbox, name, "before.txt"), "there before");
    }
    watched = openWatchedFolders({
      settings: { WATCH_DIRS: [inbox], DATABASE_URL: undefined, ...WATCH_TIMES },
      db: database.db,
      clock: { now: () => Date.now() },
      steadyNow: clock.now,
      log: createLog("info", { write: (line: string) => void lines.push(line) }),
      onFired: () => undefined,
    });
    await vi.waitFor(() => {
      expect(watched.list()[0]).toMatchObject({ state: "watched", files: NAMES.length });
    }, WAIT);
  });
  afterAll(async () => {
    await watched.close();
    await database.close();
    await rm(root, { recursive: true, force: true });
  });

  const look = () => passLook(watched.list);
  const placeOf = (name: (typeof NAMES)[number]) => {
    /** Its events, told with paths from its own folder. */
    const fired = async () => {
      const all = await firedIn(database, inbox);
      const own = all.filter((event) => event.split(" ")[1]?.startsWith(`${name}/`));
      return own.map((event) => event.replace(` ${name}/`, " ")).sort();
    };
    return {
      at: (path: string) => join(inbox, name, path),
      fired,
      /** All events, once what has changed has settled and nothing more comes. */
      async settled() {
        await passSettling(watched.list, clock);
        return fired();
      },
    };
  };

  test("a file that is written slowly fires once, when it is whole", async () => {
    const { at, fired, settled } = placeOf("slow");
    for (let second = 0; second < 9; second += 1) {
      await appendFile(at("slow.csv"), "0123456789");
      await look();
      expect(await fired()).toEqual([]);
      clock.advance(1_000);
    }
    expect(await settled()).toEqual(["created slow.csv 90"]);
  });

  test("a file that is renamed into its place fires once, under that name", async () => {
    const { at, settled } = placeOf("moved");
    await writeFile(at("upload.csv.part"), "0123456789");
    expect(await settled()).toEqual([]);
    await rename(at("upload.csv.part"), at("upload.csv"));
    expect(await settled()).toEqual(["created upload.csv 10"]);
  });

  test("a file whose writer pauses shorter than a file settles fires once, and again when it is continued", async () => {
    const { at, fired, settled } = placeOf("paused");
    await writeFile(at("log.txt"), "first");
    for (const more of [" sec", "ond"]) {
      await look();
      clock.advance(3_000);
      await appendFile(at("log.txt"), more);
    }
    await look();
    clock.advance(3_000);
    await look();
    expect(await fired()).toEqual([]);
    expect(await settled()).toEqual(["created log.txt 12"]);
    await appendFile(at("log.txt"), " third");
    expect(await settled()).toEqual(["created log.txt 12", "modified log.txt 18"]);
  });

  test("a file that was there before fires only when it changes, if only in its time", async () => {
    const { at, settled } = placeOf("changed");
    await appendFile(at("before.txt"), "!");
    expect(await settled()).toEqual(["modified before.txt 13"]);
    await utimes(at("before.txt"), 1_700_000_000, 1_700_000_000);
    expect(await settled()).toEqual(["modified before.txt 13", "modified before.txt 13"]);
  });

  test("a file that is deleted fires with what was known of it", async () => {
    const { at, settled } = placeOf("gone");
    await rm(at("before.txt"));
    expect(await settled()).toEqual(["deleted before.txt 12"]);
    const rows = await database.db.select().from(outboxEvents);
    const body = rows.find((row) => row.body["path"] === "gone/before.txt")?.body;
    expect(body).toEqual({
      folder: inbox,
      path: "gone/before.txt",
      name: "before.txt",
      size: 12,
      modified_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      source: "watched_folder",
    });
  });

  test("a file that is renamed is deleted and uploaded, and so are all of a renamed folder", async () => {
    const { at, settled } = placeOf("renamed");
    await rename(at("before.txt"), at("after.txt"));
    expect(await settled()).toEqual(["created after.txt 12", "deleted before.txt 12"]);
    await mkdir(at("one"));
    await rename(at("after.txt"), at("one/a.txt"));
    await settled();
    await rename(at("one"), at("two"));
    expect(await settled()).toEqual([
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
    expect(await settled()).toEqual(["created 2027/01/02/a.csv 1", "created 2027/b.csv 2"]);
    await rm(at("2027/01"), { recursive: true });
    expect(await settled()).toContain("deleted 2027/01/02/a.csv 1");
  });

  test("temporary files and what is in hidden folders fire nothing", async () => {
    const { at, settled } = placeOf("temporary");
    await mkdir(at(".snapshot"));
    await mkdir(at("upload.part"));
    const temporary = [".hidden", "~$letter.docx", "a.part", "A.PART", "b.tmp", "c.crdownload"];
    const more = ["d.csv~", "e.filepart", ".nfs0001", ".snapshot/f.csv", "upload.part/g.csv"];
    for (const name of [...temporary, ...more]) await writeFile(at(name), "x");
    await writeFile(at("partial.csv"), "x");
    expect(await settled()).toEqual(["created partial.csv 1"]);
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
    expect(await settled()).toEqual(["created hard.txt 12", "created inner/a.txt 5"]);
    await rm(at("inner"), { recursive: true });
    await symlink(join(outside, "inner"), at("inner"));
    expect(await settled()).toContain("deleted inner/a.txt 5");
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
    // Both come at once: a look between them would already warn, of one.
    const beside = join(inbox, "..", "left-out");
    const deep = join(beside, `${"d".repeat(200)}/`.repeat(8));
    await mkdir(deep, { recursive: true });
    await writeFile(join(deep, "too-deep.txt"), "x");
    await writeFile(Buffer.concat([Buffer.from(`${beside}/bad-`), Buffer.from([0xff, 0xfe])]), "x");
    await rename(beside, at("left-out"));
    expect(await settled()).toEqual(names.map((name) => `created ${name} 1`).sort());
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
    expect(await settled()).toEqual(["created early 1", "created half 1", "created late 1"]);
  });

  test("a file that is replaced by a rename, as editors do, is modified and never deleted", async () => {
    const { at, settled } = placeOf("replaced");
    for (let turn = 0; turn < 3; turn += 1) {
      await writeFile(at(".new"), "there again".padEnd(20 + turn, "!"));
      await rm(at("before.txt"));
      await look();
      await rename(at(".new"), at("before.txt"));
      await look();
      clock.advance(1_000);
    }
    expect(await settled()).toEqual(["modified before.txt 22"]);
  });
});
