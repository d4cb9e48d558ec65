import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openInstallation } from "../../src/access/open-installation.ts";
import { openSecret } from "../../src/access/secret.ts";
import type { Database } from "../../src/db/database.ts";
import { StartRefusal } from "../../src/lib/folders/start-refusal.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const APP_SECRET = "a secret of the operator";
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "secret-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("the secret", () => {
  it("is APP_SECRET where that is set, and no file is made", async () => {
    const one = await openSecret({ APP_SECRET, DATA_DIR: folder });
    const two = await openSecret({ APP_SECRET, DATA_DIR: "/elsewhere" });
    expect(one.fingerprint).toBe(two.fingerprint);
    expect(one.fingerprint).not.toContain(APP_SECRET);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is known again with or without the line end of the file that APP_SECRET came from", async () => {
    const open = (text: string, known?: string) =>
      openSecret({ APP_SECRET: text, DATA_DIR: folder }, known);
    const [plain, ended] = [await open(APP_SECRET), await open(`${APP_SECRET}\n`)];
    expect(ended.fingerprint).not.toBe(plain.fingerprint);
    for (const { fingerprint } of [plain, ended]) {
      for (const text of [APP_SECRET, `${APP_SECRET}\n`]) {
        expect((await open(text, fingerprint)).fingerprint).toBe(fingerprint);
      }
    }
    expect((await open("another secret, too", plain.fingerprint)).fingerprint).not.toBe(
      plain.fingerprint,
    );
  });

  it("is made once under DATA_DIR, readable by its user alone, also when several start at once", async () => {
    const secrets = await Promise.all(
      Array.from({ length: 5 }, () => openSecret({ APP_SECRET: undefined, DATA_DIR: folder })),
    );
    expect(new Set(secrets.map(({ fingerprint }) => fingerprint)).size).toBe(1);
    expect(readdirSync(folder)).toEqual(["secret"]);
    expect(statSync(join(folder, "secret")).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, "secret"), "utf8")).toMatch(/^[0-9A-Za-z]{43}\n$/);
  });

  it("gives each purpose a key of its own", async () => {
    const { derive } = await openSecret({ APP_SECRET, DATA_DIR: folder });
    expect(derive("api-keys")).toHaveLength(32);
    expect(derive("api-keys")).toEqual(derive("api-keys"));
    expect(derive("api-keys")).not.toEqual(derive("fingerprint"));
  });

  it("is refused when its file is damaged", async () => {
    writeFileSync(join(folder, "secret"), "");
    const opened = openSecret({ APP_SECRET: undefined, DATA_DIR: folder });
    await expect(opened).rejects.toThrow(StartRefusal);
  });
});

describe("the installation", () => {
  let database: Database;

  beforeAll(async () => {
    database = await openTestDatabase();
  });

  afterAll(() => database.close());

  it("remembers its first start, and refuses a replica whose secret differs, naming APP_SECRET", async () => {
    const secret = await openSecret({ APP_SECRET, DATA_DIR: folder });
    const [first, again] = [
      await openInstallation(database, secret, systemClock),
      await openInstallation(database, secret, systemClock),
    ];
    expect(again).toEqual(first);
    expect(Math.abs(first.installedAt - Date.now())).toBeLessThan(60_000);
    const other = await openSecret({ APP_SECRET: "another secret, too", DATA_DIR: folder });
    await expect(openInstallation(database, other, systemClock)).rejects.toThrow(/APP_SECRET/);
  });
});
