import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { DatabaseError } from "../../src/db/database-error.ts";
import { apiKeys } from "../../src/db/tables/api-keys.ts";
import { usageMonths } from "../../src/db/tables/usage.ts";
import { users } from "../../src/db/tables/users.ts";
import { HeartbeatWatch, SILENCE_MS } from "../../src/lib/process-lock/heartbeat-watch.ts";
import { ownerText } from "../../src/lib/process-lock/process-lock.ts";
import type { Limits, LostCall } from "../../src/limits/limits.ts";
import { openMemoryLimits } from "../../src/limits/memory-limits.ts";
import { adoptRepeatedly } from "../../src/usage/journal/adopt-journals.ts";
import { createQuarantine } from "../../src/usage/journal/quarantine.ts";
import {
  encodeRecord,
  MAX_RECORD_BYTES,
  type RecordKind,
} from "../../src/usage/journal/record-format.ts";
import { storeRecords } from "../../src/usage/journal/store-records.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";
import {
  type LimitsStage,
  NOON,
  openLimitsStage,
  UNLIMITED,
} from "../support/stages/limits-stage.ts";
import {
  journalRoot,
  silentLog,
  usageRecord,
  usageStart,
} from "../support/stages/usage/usage-journal.ts";

const BOUNDS = { requests: 1_000, tokens: 100_000, monthlyTokens: 10_000 };
const open: Limits[] = [];
let database: Database;
let root: string;
let remove: () => void;

beforeAll(async () => {
  database = await openTestDatabase();
  await database.db.insert(users).values({ id: "usr_1", username: "one", role: "user" });
});

beforeEach(async () => {
  await database.db.execute(
    sql`truncate api_keys, usage_months, usage_hours, model_hours, usage_records, journal_checkpoints cascade`,
  );
  await insertKeys(["key_1"]);
  ({ root, remove } = journalRoot());
});

afterEach(async () => {
  for (const limits of open.splice(0)) await limits.close();
  remove();
});

afterAll(() => database.close());

async function insertKeys(ids: readonly string[]): Promise<void> {
  const key = { name: "one", lastFour: "last", ownerId: "usr_1", changeSeq: 1 };
  for (let from = 0; from < ids.length; from += 2_000) {
    const rows = ids.slice(from, from + 2_000).map((id) => ({ ...key, id, keyHash: id }));
    await database.db.insert(apiKeys).values(rows);
  }
}

async function start(at = NOON, on: Database = database): Promise<LimitsStage> {
  const stage = await openLimitsStage(on, at);
  open.push(stage.limits);
  return stage;
}

/** Limits at noon that have not been told yet when all is known. */
async function openUnstarted(): Promise<Limits> {
  const limits = await openMemoryLimits({
    database,
    clock: { now: () => NOON },
    monotonic: () => 0,
    log: silentLog,
    callTimeoutMs: 1_000,
    waitMs: 200,
    observer: { onMonthUse: () => undefined, onMonthlyRefusal: () => undefined },
  });
  open.push(limits);
  return limits;
}

/** Rows of calls of `key_1`, as a process before this one has stored them. */
async function storeCalls(times: readonly number[]): Promise<void> {
  const records = times.map((startedAt, index) =>
    JSON.stringify(usageRecord(`earlier_${index}`, { startedAt })),
  );
  const checkpoint = { journal: "x", segment: 1, byteOffset: 1 };
  await storeRecords(
    { db: database.db, quarantine: createQuarantine(root, silentLog) },
    records,
    checkpoint,
  );
}

/** Requests and tokens used in all, and tokens of the month, as `key_1` is told. */
async function used(stage: LimitsStage): Promise<readonly (number | undefined)[]> {
  const { requests, tokens, monthlyTokens } = await stage.read(BOUNDS);
  return [requests?.used, tokens?.used, monthlyTokens?.used];
}

describe("what keys have used before the start", () => {
  it("is what the database has of them: over their life and in this month", async () => {
    await insertKeys(["key_2"]);
    await database.db.insert(usageMonths).values([
      { keyId: "key_1", month: "2025-10-01", requests: 1, tokens: 1_000 },
      { keyId: "key_1", month: "2026-08-01", requests: 10, tokens: 2_000 },
      { keyId: "key_1", month: "2026-09-01", requests: 100, tokens: 3_000 },
      { keyId: "key_1", month: "2026-10-01", requests: 200, tokens: 4_000 },
      { keyId: "key_2", month: "2026-10-01", requests: 5, tokens: 5 },
      { keyId: "key_gone", month: "2026-10-01", requests: 5, tokens: 5 },
    ]);
    const stage = await start();
    expect(await used(stage)).toEqual([311, 10_000, 4_000]);
    // A call that began before the last midnight of September spends what September has left.
    const september = { startedAt: Date.UTC(2026, 9, 1) - 1, inputTokens: 7_001 };
    expect(stage.refusal(BOUNDS, september).code).toBe("monthly_limit_exceeded");
    stage.admit(BOUNDS, { ...september, inputTokens: 7_000 });
  });

  it("is known of this month too when the clock was years ahead at the start and is set right", async () => {
    await database.db.insert(usageMonths).values([
      { keyId: "key_1", month: "2026-09-01", requests: 1, tokens: 3_000 },
      { keyId: "key_1", month: "2026-10-01", requests: 1, tokens: 10_000 },
      { keyId: "key_1", month: "2031-02-01", requests: 1, tokens: 1 },
    ]);
    const stage = await start(Date.UTC(2031, 2, 5));
    stage.now = NOON;
    expect(stage.refusal(BOUNDS).code).toBe("monthly_limit_exceeded");
    expect(await used(stage)).toEqual([3, 13_001, 10_000]);
  });

  it("refuses what it leaves no room for", async () => {
    await database.db
      .insert(usageMonths)
      .values({ keyId: "key_1", month: "2026-10-01", requests: 2, tokens: 10_000 });
    const stage = await start();
    expect(stage.refusal({ requests: 2 }).code).toBe("request_limit_exceeded");
    expect(stage.refusal({ monthlyTokens: 10_000 }).code).toBe("monthly_limit_exceeded");
    stage.now = Date.UTC(2026, 10, 1);
    stage.admit({ monthlyTokens: 10_000 });
  });

  it("leaves no room in a minute that the process before has filled", async () => {
    const limit = { requestsPerMinute: 3 };
    await database.db.execute(sql`update api_keys set rpm_limit = 3`);
    const times = [60_000, 59_999, 20_000, 5_000].map((agoMs) => NOON - agoMs);
    await storeCalls(times);
    const stage = await start();
    expect(stage.refusal(limit)).toMatchObject({
      code: "rate_limit_exceeded",
      retryAfterSeconds: 1,
    });
    stage.pass(1);
    stage.admit(limit);
    expect(stage.refusal(limit).retryAfterSeconds).toBe(40);
  });

  it("leaves no room in a minute that lost processes' calls fill, found in any order", async () => {
    const limits = await openUnstarted();
    const lost = [5_000, 30_000, 10_000].map((agoMs, index) => ({
      id: `lost_${index}`,
      keyId: "key_1",
      startedAt: NOON - agoMs,
      tokens: 1,
    }));
    await limits.settleLost(lost, async () => undefined);
    limits.start(Promise.resolve());
    const call = {
      id: "req_1",
      keyId: "key_1",
      limits: { ...UNLIMITED, requestsPerMinute: 3 },
      startedAt: NOON,
      inputTokens: 0,
      outputTokens: 0,
    };
    await expect(limits.admit(call)).rejects.toMatchObject({
      code: "rate_limit_exceeded",
      retryAfterSeconds: 30,
    });
  });

  it("is known of every one of 12,000 keys", async () => {
    const ids = Array.from({ length: 12_000 }, (_, index) => `key_x${index}`);
    await insertKeys(ids);
    await database.db.execute(sql`
      insert into usage_months (key_id, month, requests, tokens)
      select id, '2026-10-01', 1, 7 from api_keys where id <> 'key_1'`);
    const stage = await start();
    for (const id of ids) {
      const report = await stage.limits.read(id, { ...UNLIMITED, tokens: 10 }, NOON);
      if (report.tokens?.used !== 7) throw new Error(`${id} has used ${report.tokens?.used}`);
    }
    expect(await used(stage)).toEqual([0, 0, 0]);
  });

  it("is not known until lost processes' calls are counted; calls wait for it, not long", async () => {
    const limits = await openUnstarted();
    const call = {
      id: "req_1",
      keyId: "key_1",
      limits: { ...UNLIMITED, tokens: 100 },
      startedAt: NOON,
      inputTokens: 10,
      outputTokens: 200,
    };
    let counted: () => void = () => undefined;
    const isCounted = new Promise<void>((resolve) => {
      counted = resolve;
    });
    limits.start(isCounted);
    const unknown = { code: "storage_unavailable", retryAfterSeconds: 1 };
    await expect(limits.admit(call)).rejects.toMatchObject(unknown);
    await expect(limits.read("key_1", call.limits, NOON)).rejects.toMatchObject(unknown);
    // Keys without limits go on meanwhile, and what they use counts.
    limits.book("key_1", NOON, 30);
    const waiting = limits.admit(call);
    counted();
    expect((await waiting).outputTokens).toBe(60);
  });
});

describe("the calls of a process that died", () => {
  const lost = (id: string): LostCall => ({ id, keyId: "key_1", startedAt: NOON, tokens: 18 });
  const store = (...ids: string[]) => {
    const records = ids.map((id) => JSON.stringify(usageRecord(id, { startedAt: NOON })));
    const checkpoint = { journal: "x", segment: 1, byteOffset: 1 };
    const quarantine = createQuarantine(root, silentLog);
    return storeRecords({ db: database.db, quarantine }, records, checkpoint);
  };

  it("count once each, and those that the database had at the start do not count again", async () => {
    await store("a", "b");
    const stage = await start();
    expect(await used(stage)).toEqual([2, 36, 36]);
    const calls = ["a", "b", "c", "d"];
    for (let time = 0; time < 2; time += 1) {
      await stage.limits.settleLost(calls.map(lost), () => store(...calls));
      expect(await used(stage)).toEqual([4, 72, 72]);
    }
    expect(await used(await start())).toEqual([4, 72, 72]);
  });

  it("count once where storing them failed, whether or not the database had taken them", async () => {
    const stage = await start();
    const cut = () => Promise.reject(new DatabaseError("CONNECTION_CLOSED", "It is away."));
    const storeAndCut = () => store("a", "b").then(cut);
    await expect(stage.limits.settleLost(["a", "b"].map(lost), cut)).rejects.toThrow("away");
    expect(await used(stage)).toEqual([2, 36, 36]);
    await expect(stage.limits.settleLost(["a", "b"].map(lost), storeAndCut)).rejects.toThrow();
    await stage.limits.settleLost(["a", "b"].map(lost), () => store("a", "b"));
    expect(await used(stage)).toEqual([2, 36, 36]);
    expect(await used(await start())).toEqual([2, 36, 36]);
  });

  it("count as their journal tells them, also when it is found only later", async () => {
    const stage = await start();
    leaveJournal("x", [
      ["start", usageStart("ended")],
      ["end", usageRecord("ended")],
      ["start", usageStart("cut")],
      ["progress", { id: "cut", outputTokens: 5, at: NOON }],
    ]);
    const { first, caughtUp, stop } = adoptRepeatedly(adoption(stage.limits, database.db), true);
    await Promise.all([first, caughtUp]);
    await stop();
    expect(readdirSync(root)).toEqual([]);
    const { tokens, requests } = await stage.read(BOUNDS);
    // 7 + 11 of the one that ended, 7 + 5 of the one that was cut.
    expect([requests?.used, tokens?.used]).toEqual([2, 30]);
    const again = await (await start()).read(BOUNDS);
    expect([again.requests?.used, again.tokens?.used]).toEqual([2, 30]);
  });

  it("count when the database finishes their last statement only after the limits have been read", async () => {
    await database.db.execute(sql`update api_keys set rpm_limit = 3`);
    const limits = await openUnstarted();
    const records = ["one", "two"].map((id) => usageRecord(id, { startedAt: NOON - 1_000 }));
    const bytes = leaveJournal(
      "x",
      records.map((record) => ["end", record]),
    );
    const late = records.map((record) => JSON.stringify(record));
    const quarantine = createQuarantine(root, silentLog);
    const checkpoint = { journal: "x", segment: 1, byteOffset: bytes };
    await storeRecords({ db: database.db, quarantine }, late, checkpoint);
    const { caughtUp, stop } = adoptRepeatedly(adoption(limits, database.db), true);
    limits.start(caughtUp);
    await caughtUp;
    await stop();
    const bounds = { ...UNLIMITED, ...BOUNDS, requestsPerMinute: 3 };
    expect(await limits.read("key_1", bounds, NOON)).toMatchObject({
      requestsPerMinute: { used: 2 },
      requests: { used: 2 },
      tokens: { used: 36 },
      monthlyTokens: { used: 36 },
    });
  });

  it("are waited for while the database is away, and counted when it is back", async () => {
    const stage = await start();
    leaveJournal("x", [["end", usageRecord("ended")]]);
    let isAway = true;
    const db = new Proxy(database.db, {
      get(target, name) {
        if (isAway && name === "execute")
          return () => Promise.reject(new DatabaseError("ECONNREFUSED", "It is away."));
        const member: unknown = Reflect.get(target, name);
        return typeof member === "function" ? member.bind(target) : member;
      },
    });
    const { first, caughtUp, stop } = adoptRepeatedly(adoption(stage.limits, db), true);
    await first;
    const soon = new Promise((resolve) => setTimeout(resolve, 100, "not yet"));
    expect(await Promise.race([caughtUp, soon])).toBe("not yet");
    expect(await used(stage)).toEqual([0, 0, 0]);
    isAway = false;
    await caughtUp;
    await stop();
    expect((await stage.read(BOUNDS)).tokens?.used).toBe(18);
  });

  for (const isAlone of [true, false]) {
    const whoWaits = isAlone ? "waited for by a gateway alone" : "not waited for by a replica";
    it(`are ${whoWaits} while their process may live in another container`, async () => {
      const stage = await start();
      leaveJournal("x", [["end", usageRecord("ended")]]);
      const owner = { pid: 1, startedAt: "", place: "elsewhere", hostName: "other", token: "t" };
      symlinkSync(ownerText(owner), join(root, "x.journal", "process.lock"));
      let now = 0;
      const watch = new HeartbeatWatch(() => now);
      const adopted = { ...adoption(stage.limits, database.db), watch };
      const { first, caughtUp, stop } = adoptRepeatedly(adopted, isAlone);
      await first;
      const soon = new Promise((resolve) => setTimeout(resolve, 100, "not yet"));
      expect(await Promise.race([caughtUp, soon])).toBe(isAlone ? "not yet" : undefined);
      // It has been silent for so long that it counts as gone.
      now += SILENCE_MS;
      await caughtUp;
      await stop();
      expect((await stage.read(BOUNDS)).tokens?.used).toBe(isAlone ? 18 : 0);
    });
  }

  function adoption(limits: Limits, db: Database["db"]) {
    const quarantine = createQuarantine(root, silentLog);
    const watch = new HeartbeatWatch();
    return { root, own: "none", db, quarantine, limits, watch, log: silentLog };
  }

  /** Leaves the journal of a process that is gone; returns its length. */
  function leaveJournal(name: string, records: readonly (readonly [RecordKind, object])[]): number {
    mkdirSync(join(root, `${name}.journal`));
    const bytes = records.map(([kind, content]) => {
      const target = Buffer.alloc(MAX_RECORD_BYTES);
      return target.subarray(0, encodeRecord(kind, JSON.stringify(content), target));
    });
    const content = Buffer.concat(bytes);
    writeFileSync(join(root, `${name}.journal`, "00000001.segment"), content);
    return content.length;
  }
});

describe("what another gateway has counted meanwhile", () => {
  it("counts here too, and what is counted already counts once", async () => {
    const stage = await start();
    stage.admit(BOUNDS, { inputTokens: 18 }).settle(18);
    stage.admit(BOUNDS, { inputTokens: 100 });
    // The first of them is this gateway's own.
    await storeCalls([NOON, NOON, NOON]);
    await stage.limits.recount?.();
    expect(await used(stage)).toEqual([4, 54, 54]);
    await stage.limits.recount?.();
    expect(await used(stage)).toEqual([4, 54, 54]);
    expect((await stage.read(BOUNDS)).tokens?.reserved).toBe(100);
  });

  it("takes away nothing of what has not reached the database yet", async () => {
    const stage = await start();
    await storeCalls([NOON]);
    for (let call = 0; call < 3; call += 1) stage.admit(BOUNDS, { inputTokens: 50 }).settle(50);
    await stage.limits.recount?.();
    expect(await used(stage)).toEqual([3, 150, 150]);
  });
});
