import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { DirectInserts } from "../../../src/usage/journal/direct-inserts.ts";
import { createQuarantine } from "../../../src/usage/journal/quarantine.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  journalRoot,
  ledger,
  silentLog,
  usageRecord,
} from "../../support/stages/usage/usage-journal.ts";

const { root, remove } = journalRoot();
let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(async () => {
  await database.close();
  remove();
});

describe("A usage record that goes to the database directly", () => {
  it("is stored also when it comes in the very moment in which the one before is done", async () => {
    const quarantine = createQuarantine(root, silentLog);
    const options = { journal: "test", database, quarantine, waitMs: 5_000, log: silentLog };
    const direct = new DirectInserts(options);
    const insert = (id: string, onSettled: () => void = () => undefined) =>
      direct.insert(JSON.stringify(usageRecord(id)), onSettled);
    const second = new Promise((resolve, reject) => {
      insert("one", () => queueMicrotask(() => insert("two").then(resolve, reject))).catch(reject);
    });
    await second;
    expect(direct.unflushedRecords).toBe(0);
    expect(await ledger(database)).toEqual(["one ok 11", "two ok 11"]);
  });

  it("is given up, and whoever waits is told, when ten thousand wait before it", async () => {
    const quarantine = createQuarantine(root, silentLog);
    const askOwn = () => new Promise<never>(() => undefined);
    const away = { ...database, askOwn };
    const options = { journal: "test", database: away, quarantine, waitMs: 60_000, log: silentLog };
    const direct = new DirectInserts(options);
    for (let count = 0; count < 10_000; count += 1)
      direct.insert("{}", () => undefined).catch(() => undefined);
    let isSettled = false;
    const lost = direct.insert("{}", () => {
      isSettled = true;
    });
    expect(isSettled).toBe(true);
    await expect(lost).rejects.toMatchObject({ code: "storage_unavailable" });
    expect(direct.unflushedRecords).toBe(10_000);
  });

  it("tells calls that nothing is taken while it was refused, until it is stored", async () => {
    const quarantine = createQuarantine(root, silentLog);
    let tries = 0;
    let isFull = true;
    const askOwn: Database["askOwn"] = (work) => {
      tries += 1;
      return isFull ? Promise.reject(new Error("no room")) : database.askOwn(work);
    };
    const full = { ...database, askOwn };
    const options = { journal: "test", database: full, quarantine, waitMs: 50, log: silentLog };
    const direct = new DirectInserts(options);
    const refusal = { code: "storage_unavailable" };
    await expect(
      direct.insert(JSON.stringify(usageRecord("late")), () => undefined),
    ).rejects.toMatchObject(refusal);
    const triesBefore = tries;
    await expect(direct.checkWritable()).rejects.toMatchObject(refusal);
    // The record that waits is the proof: nothing else is tried.
    expect(tries).toBe(triesBefore);
    isFull = false;
    await expect.poll(() => direct.unflushedRecords, { timeout: 10_000 }).toBe(0);
    await direct.checkWritable();
    expect(await ledger(database)).toContain("late ok 11");
  });
});
