import fs, { type NoParamCallback } from "node:fs";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import type { OpenUsageJournal } from "../../../src/usage/journal/open-usage-journal.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  eventually,
  journalRoot,
  ledger,
  openTestJournal,
  usageRecord,
  usageStart,
} from "../../support/stages/usage/usage-journal.ts";

const syncs = fs.fdatasync;
const disk = {
  set refuses(refuses: boolean) {
    vi.spyOn(fs, "fdatasync").mockImplementation((file: number, done: NoParamCallback) => {
      if (refuses) done(Object.assign(new Error("i/o error"), { code: "EIO" }));
      else syncs(file, done);
    });
  },
};

const UNAVAILABLE = { code: "storage_unavailable", status: 503, retryAfterSeconds: 1 };

let database: Database;
let root: string;
let remove: () => void;
let journal: OpenUsageJournal;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

beforeEach(() => {
  ({ root, remove } = journalRoot());
});
afterEach(async () => {
  vi.restoreAllMocks();
  await journal.drain(5_000);
  await database.db.execute(sql`truncate usage_records, journal_checkpoints`);
  remove();
});

describe("a disk that takes records and refuses to sync them", () => {
  it("refuses the calls that wait for it, says so, and takes calls again once it syncs", async () => {
    journal = await openTestJournal(root, database, "wait");
    expect([journal.isRefusing, await journal.canRecord()]).toEqual([false, true]);
    const call = await journal.open(usageStart("first"));
    disk.refuses = true;
    await expect(call.close(usageRecord("first"))).rejects.toMatchObject(UNAVAILABLE);
    expect([journal.isRefusing, await journal.canRecord()]).toEqual([true, false]);
    const opening = async () => journal.open(usageStart("refused"));
    await expect(opening()).rejects.toMatchObject(UNAVAILABLE);
    disk.refuses = false;
    expect([await journal.canRecord(), journal.isRefusing]).toEqual([true, false]);
    await (await journal.open(usageStart("second"))).close(usageRecord("second"));
    await journal.drain(5_000);
    // A call that was refused before it began has no row.
    expect(await ledger(database)).toEqual(["first ok 11", "second ok 11"]);
  });

  it("takes calls again without anyone asking whether it does", async () => {
    journal = await openTestJournal(root, database, "wait");
    const call = await journal.open(usageStart("first"));
    disk.refuses = true;
    await expect(call.close(usageRecord("first"))).rejects.toMatchObject(UNAVAILABLE);
    disk.refuses = false;
    await (await journal.open(usageStart("second"))).close(usageRecord("second"));
    expect(journal.isRefusing).toBe(false);
  });

  it("refuses no calls that do not wait for it", async () => {
    journal = await openTestJournal(root, database, "group");
    disk.refuses = true;
    await (await journal.open(usageStart("first"))).close(usageRecord("first"));
    await expect(journal.sync()).rejects.toMatchObject(UNAVAILABLE);
    expect([journal.isRefusing, await journal.canRecord()]).toEqual([false, true]);
    await (await journal.open(usageStart("second"))).close(usageRecord("second"));
    await eventually(() => journal.unflushedRecords === 0);
  });
});
