import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { openEmbedded } from "../../src/db/embedded/open-embedded.ts";
import { embeddedArchive, openDatabase } from "../../src/db/open-db.ts";
import { createLog } from "../../src/lib/log.ts";

let template: string;
let dataFolder: string;
let folder: string;

beforeAll(async () => {
  template = mkdtempSync(join(tmpdir(), "files-"));
  dataFolder = template;
  await (await open()).close();
});
afterAll(() => {
  rmSync(template, { recursive: true });
});

beforeEach(() => {
  dataFolder = mkdtempSync(join(tmpdir(), "files-"));
  folder = join(dataFolder, "database");
});
afterEach(() => {
  rmSync(dataFolder, { recursive: true });
});

const open = (archive: string | undefined = embeddedArchive()): Promise<Database> =>
  openEmbedded({
    dataFolder,
    archive,
    waitMs: 5_000,
    limitMs: () => 60_000,
    log: createLog("silent"),
  });

async function refusal(): Promise<string> {
  return open().then(
    async (database) => {
      await database.close();
      return "it was opened";
    },
    (thrown: Error) => thrown.message,
  );
}

function copyTemplate(): void {
  cpSync(join(template, "database"), folder, { recursive: true });
}

/** The files and folders of the database in which others have a right. */
function openToOthers(): string[] {
  const all = ["", ...(readdirSync(folder, { recursive: true }) as string[])];
  return all.filter((name) => (statSync(join(folder, name)).mode & 0o077) !== 0);
}

describe("an embedded database that is damaged", () => {
  beforeEach(copyTemplate);

  it.each([
    ["PG_VERSION", /PG_VERSION is missing or empty/],
    ["global/pg_control", /global\/pg_control is missing or empty/],
    ["global", /global\/pg_control is missing or empty/],
    ["pg_wal", /required WAL directory "pg_wal" does not exist/],
  ])("without %s is refused and left as it is", async (name, reason) => {
    rmSync(join(folder, name), { recursive: true });
    const tables = readdirSync(join(folder, "base"), { recursive: true });
    const text = await refusal();
    expect(text).toMatch(reason);
    expect(text).toContain(`mv ${dataFolder} ${dataFolder}.damaged && bun run restore FILE`);
    expect(text).not.toContain("Aborted");
    expect(existsSync(join(folder, name))).toBe(false);
    expect(readdirSync(join(folder, "base"), { recursive: true })).toEqual(tables);
  });

  it("is refused with PostgreSQL's own reason when its files say nothing to it", async () => {
    writeFileSync(join(folder, "PG_VERSION"), "15\n");
    expect(await refusal()).toContain(
      "The data directory was initialized by PostgreSQL version 15",
    );
  });

  it("names the newest backup that is in its folder", async () => {
    rmSync(join(folder, "PG_VERSION"));
    mkdirSync(join(dataFolder, "backups"));
    for (const day of ["20260102", "20260301", "20260115"])
      writeFileSync(join(dataFolder, `backups/inference-gateway-${day}T000000Z.tar.gz`), "");
    const newest = `${dataFolder}.damaged/backups/inference-gateway-20260301T000000Z.tar.gz`;
    expect(await refusal()).toContain(`bun run restore ${newest}`);
  });
});

describe("an embedded database that is not there yet", () => {
  it("is made in a folder that is empty, and over one that a kill left half made", async () => {
    mkdirSync(folder);
    mkdirSync(`${folder}.unfinished`);
    writeFileSync(join(`${folder}.unfinished`, "PG_VERSION"), "");
    const database = await open();
    expect(await database.ping()).toBe(true);
    await database.close();
    expect(existsSync(`${folder}.unfinished`)).toBe(false);
  });

  it("is not made in place of one that was removed while it was in use", async () => {
    const lines: string[] = [];
    const database = await openEmbedded({
      ...{ dataFolder, archive: embeddedArchive(), waitMs: 500, limitMs: () => 1_000 },
      log: createLog("error", { write: (line) => void lines.push(line) }),
    });
    await database.db.execute(sql`select pg_sleep(0)`);
    const hanging = database.db.execute(sql`select pg_sleep(3600)`);
    rmSync(folder, { recursive: true });
    await expect(hanging).rejects.toThrow();
    await expect
      .poll(() => lines.join(""), { timeout: 20_000 })
      .toContain("was removed while it was in use");
    await database.close();
    expect(existsSync(folder)).toBe(false);
  });
});

describe("the files of the embedded database", () => {
  it.each([
    ["from the prepared one", embeddedArchive()],
    ["from nothing", undefined],
  ])("are its user's alone when it is made %s, whatever is written later", async (_, archive) => {
    chmodSync(dataFolder, 0o755);
    const mask = process.umask(0);
    try {
      const database = await open(archive);
      await database.db.execute(sql`create table kept (id int primary key, note text)`);
      await database.db.execute(
        sql`insert into kept select i, repeat('x', 2000) from generate_series(1, 500) i`,
      );
      await database.db.execute(sql`checkpoint`);
      await database.db.execute(sql`create index on kept (note)`);
      expect(openToOthers()).toEqual([]);
      await database.close();
      expect(openToOthers()).toEqual([]);
    } finally {
      process.umask(mask);
    }
  });

  it("are not all that is to be closed: an open DATA_DIR is warned of", async () => {
    copyTemplate();
    chmodSync(dataFolder, 0o750);
    const lines: string[] = [];
    const log = createLog("warn", { write: (line) => void lines.push(line) });
    const settings = { DATABASE_URL: undefined, DATA_DIR: dataFolder, DB_POOL_MAX: 1 };
    const database = await openDatabase({ ...settings, DB_POOL_WAIT_MS: 5_000 }, log);
    await database.close();
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        dataFolder,
        mode: "0750",
        msg: expect.stringMatching("chmod 700"),
      }),
    ]);
  });

  it("are closed to others by the next start where an earlier release left them open", async () => {
    copyTemplate();
    chmodSync(folder, 0o755);
    chmodSync(join(folder, "global"), 0o755);
    chmodSync(join(folder, "global/pg_control"), 0o666);
    const database = await open();
    expect(openToOthers()).toEqual([]);
    await database.close();
    expect(openToOthers()).toEqual([]);
  });
});
