import { isDeepStrictEqual } from "node:util";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { listAudit } from "../../../src/access/audit/list-audit.ts";
import { logout } from "../../../src/access/sessions/logout.ts";
import { createLog } from "../../../src/lib/log.ts";
import { createDailyReconciliation } from "../../../src/usage/sums/daily-reconciliation.ts";
import { dropUsageDays } from "../../../src/usage/sums/drop-usage-days.ts";
import { reconcileUsage } from "../../../src/usage/sums/reconcile-usage.ts";
import { repairUsage } from "../../../src/usage/sums/repair-usage.ts";
import { makeUsageDays } from "../../../src/usage/sums/usage-days.ts";
import type { UsageRecord } from "../../../src/usage/usage-record.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  ADMIN_PASSWORD,
  openUserAccess,
  type TestUserAccess,
} from "../../support/stages/access/user-access.ts";
import { randomUsage, storeUsage } from "../../support/stages/usage/usage-ledger.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.parse("2026-11-21T10:34:56.789Z");
const FROM = Date.parse("2026-11-18T00:00:00Z");
const RETENTION_DAYS = 30;
const CALLS = trialSize(300, 800);
const FIGURES = [
  "requests",
  "failures",
  "rate_limited",
  "aborted",
  "latency_ms",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "reasoning_tokens",
];
/** Of the sums by key: limits are computed from them. */
const KEY_FIGURES = [...FIGURES, "extra_charge"];

let store: TestUserAccess;
let ledger: UsageRecord[];
/** What is stored before a test: most tests leave it so, and to store it again costs more than such a test. */
let whole: unknown;

beforeAll(async () => {
  store = await openUserAccess();
  store.world.now = NOW;
  ledger = randomUsage({ seed: 3, count: CALLS, keyIds: ["key_1", "key_2"], from: FROM, to: NOW });
});
afterAll(() => store.close());
beforeEach(async () => {
  if (whole !== undefined && isDeepStrictEqual(await stored(), whole)) return;
  await store.database.db.execute(
    sql`truncate usage_records, usage_hours, model_hours, usage_days, usage_months, journal_checkpoints`,
  );
  await makeDays(FROM, NOW);
  await storeUsage(store.database, ledger);
  whole = await stored();
});

const reading = (retentionDays = RETENTION_DAYS) => ({
  database: store.database,
  clock: store.access.clock,
  retentionDays,
  ask: store.database.ask,
});
/** The days of a range with their partitions, as the upkeep makes them. */
async function makeDays(from: number, to: number): Promise<void> {
  for (let day = from; day < to; day += DAY_MS) await makeUsageDays(store.database.db, day);
}
const range = { from: FROM, to: NOW };
const reconcile = (asked = range, retentionDays = RETENTION_DAYS) =>
  reconcileUsage(reading(retentionDays), asked);
const repair = (asked = range) => repairUsage(reading(), store.admin, asked);
const execute = (statement: string) => store.database.db.execute(sql.raw(statement));

/** Changes sums beside arriving rows: under the lock that a repair takes, because such an update could deadlock with them. */
const damage = (statement: string) =>
  store.database.db.transaction(async (transaction) => {
    await transaction.execute(sql`lock table only usage_records in share row exclusive mode`);
    await transaction.execute(sql.raw(statement));
  });

/** Everything that is summed up, to compare before and after. */
async function sums(): Promise<unknown> {
  const { db } = store.database;
  return [
    await db.execute(sql`select * from usage_hours order by hour, key_id, model, channel`),
    await db.execute(sql`select * from model_hours order by hour, model, channel`),
    await db.execute(sql`select * from usage_days order by day, key_id, model, channel`),
    await db.execute(sql`select * from usage_months order by key_id, month`),
  ];
}

async function stored(): Promise<unknown> {
  const rows = await store.database.db.execute(
    sql`select tableoid::regclass::text as day, count(*)::int as calls from usage_records group by 1 order by 1`,
  );
  return [rows, await sums()];
}

/** A call of an hour that is over, whose hour has one key, model and channel alone. */
const victim = () => ledger.find(({ startedAt }) => startedAt < NOW - DAY_MS) as UsageRecord;
/** The hour and those beside it: each hour of a range costs several statements. */
const hoursOfVictim = () => {
  const hour = Math.floor(victim().startedAt / HOUR_MS) * HOUR_MS;
  return { from: hour - HOUR_MS, to: hour + 2 * HOUR_MS };
};
const ofVictim = () => `${ofVictimOverKeys()} and key_id = '${victim().keyId}'`;
/** The same hour, model and channel over all keys. */
const ofVictimOverKeys = () => {
  const { model, channel, startedAt } = victim();
  const hour = new Date(Math.floor(startedAt / HOUR_MS) * HOUR_MS).toISOString();
  return `hour = '${hour}' and channel = '${channel}' and model = '${model.replaceAll("'", "''")}'`;
};

function daily() {
  const lines: Record<string, unknown>[] = [];
  const log = createLog("debug", { write: (line) => void lines.push(JSON.parse(line)) });
  const settings = { USAGE_RETENTION_DAYS: RETENTION_DAYS };
  const { database } = store;
  const { clock } = store.access;
  return { lines, job: createDailyReconciliation({ database, clock, log, settings }) };
}

describe("reconciliation", () => {
  it("finds nothing where sums and rows agree", async () => {
    expect(await reconcile()).toEqual({
      from: FROM,
      to: Date.parse("2026-11-21T10:00:00Z"),
      hours: 3 * 24 + 10,
      days: 4,
      months: 1,
      mismatches: 0,
      differences: [],
    });
  });

  it.each(KEY_FIGURES)(
    "finds a difference of one in %s of an hour, and the repair takes it away",
    async (name) => {
      const before = await sums();
      const hours = hoursOfVictim();
      for (const step of [1, -1]) {
        await execute(`update usage_hours set ${name} = ${name} + ${step} where ${ofVictim()}`);
        const { mismatches, differences } = await reconcile(hours);
        const { keyId, model, channel, startedAt } = victim();
        const counted = differences[0]?.figures[0]?.counted ?? Number.NaN;
        expect(differences).toEqual([
          {
            kind: "hour",
            time: Math.floor(startedAt / HOUR_MS) * HOUR_MS,
            keyId,
            model,
            channel,
            figures: [{ name, counted, stored: counted + step }],
          },
        ]);
        expect(mismatches).toBe(1);
        expect(await repair(hours)).toMatchObject({ hours: 1, months: 0, repaired: 1 });
        expect(await sums()).toEqual(before);
      }
    },
  );

  it.each(FIGURES)(
    "finds a difference of one in %s of an hour over all keys, and the repair takes it away",
    async (name) => {
      const before = await sums();
      const hours = hoursOfVictim();
      for (const step of [1, -1]) {
        await execute(
          `update model_hours set ${name} = ${name} + ${step} where ${ofVictimOverKeys()}`,
        );
        const { mismatches, differences, days, months } = await reconcile(hours);
        const { model, channel, startedAt } = victim();
        const counted = differences[0]?.figures[0]?.counted ?? Number.NaN;
        expect(differences).toEqual([
          {
            kind: "hour",
            time: Math.floor(startedAt / HOUR_MS) * HOUR_MS,
            keyId: null,
            model,
            channel,
            figures: [{ name, counted, stored: counted + step }],
          },
        ]);
        // It is no reason to doubt the hours of the keys, and what is made from them.
        expect([mismatches, days, months]).toEqual([1, 1, 1]);
        expect(await repair(hours)).toMatchObject({ hours: 1, days: 0, months: 0, repaired: 1 });
        expect(await sums()).toEqual(before);
      }
    },
  );

  it("finds sums over all keys without rows and rows without them, and repairs them", async () => {
    const before = await sums();
    await execute(`delete from model_hours where ${ofVictimOverKeys()}`);
    await execute(
      "insert into model_hours (hour, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens, reasoning_tokens) values ('2026-11-19T05:00:00Z', 'm', 'mcp', 2, 0, 3, 4, 0, 0)",
    );
    const { mismatches, differences } = await reconcile();
    expect(mismatches).toBe(2);
    expect(differences.every(({ keyId }) => keyId === null)).toBe(true);
    expect(differences.find(({ model }) => model === "m")?.figures).toEqual([
      { name: "requests", counted: 0, stored: 2 },
      { name: "input_tokens", counted: 0, stored: 3 },
      { name: "output_tokens", counted: 0, stored: 4 },
    ]);
    expect(await repair()).toMatchObject({ hours: 2, repaired: 2 });
    expect(await sums()).toEqual(before);
  });

  it("sets an hour right that is wrong with its keys and over all of them, as its rows say", async () => {
    const before = await sums();
    await execute(`update usage_hours set requests = requests + 3 where ${ofVictim()}`);
    await execute(`update model_hours set requests = requests + 5 where ${ofVictimOverKeys()}`);
    expect((await reconcile()).mismatches).toBe(1);
    expect(await repair()).toMatchObject({ hours: 1, repaired: 2 });
    expect(await sums()).toEqual(before);
    expect((await reconcile()).mismatches).toBe(0);
  });

  it("finds a day that is not what its hours are, and repairs it where its whole day is in the range", async () => {
    const before = await sums();
    const day = Date.parse("2026-11-19");
    await execute(
      "update usage_days set requests = requests + 2, output_tokens = output_tokens - 1 where day = '2026-11-19T00:00:00Z' and key_id = 'key_1'",
    );
    const { mismatches, differences } = await reconcile();
    expect(mismatches).toBeGreaterThan(0);
    for (const { kind, time, keyId, model, figures } of differences) {
      expect([kind, time, keyId]).toEqual(["day", day, "key_1"]);
      expect(model).toEqual(expect.any(String));
      expect(figures.map(({ name, counted, stored }) => [name, stored - counted])).toEqual([
        ["requests", 2],
        ["output_tokens", -1],
      ]);
    }
    expect(await repair({ from: day + HOUR_MS, to: NOW })).toMatchObject({ days: 0, repaired: 0 });
    expect(await repair()).toMatchObject({ hours: 0, days: 1, months: 0, repaired: mismatches });
    expect(await sums()).toEqual(before);
  });

  it.each(["requests", "tokens"])(
    "finds a difference of one in %s of a month, and the repair takes it away",
    async (name) => {
      const before = await sums();
      await execute(`update usage_months set ${name} = ${name} + 1 where key_id = 'key_2'`);
      const { mismatches, differences } = await reconcile();
      expect(mismatches).toBe(1);
      expect(differences).toMatchObject([
        {
          kind: "month",
          time: Date.parse("2026-11-01"),
          keyId: "key_2",
          model: null,
          channel: null,
          figures: [{ name }],
        },
      ]);
      const [figure] = differences[0]?.figures ?? [];
      expect(figure?.stored).toBe((figure?.counted ?? 0) + 1);
      // The range does not cover the month: its other hours may be wrong, so nothing is done.
      expect(await repair()).toMatchObject({ months: 0, repaired: 0 });
      const month = { from: Date.parse("2026-11-01"), to: Date.parse("2026-12-01") };
      expect(await repair(month)).toMatchObject({ hours: 0, months: 1, repaired: 1 });
      expect(await sums()).toEqual(before);
    },
  );

  it("finds sums without rows, rows without sums and months without hours, and repairs them", async () => {
    const before = await sums();
    await execute(`delete from usage_hours where ${ofVictim()}`);
    await execute(
      "insert into usage_hours (hour, key_id, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens, reasoning_tokens) values ('2026-11-19T05:00:00Z', 'key_nobody', 'm', 'mcp', 2, 0, 3, 4, 0, 0)",
    );
    const { mismatches, differences, months } = await reconcile();
    // Of a month whose hours are wrong nothing can be said.
    expect([mismatches, months]).toEqual([2, 0]);
    const nobody = differences.find(({ keyId }) => keyId === "key_nobody");
    expect(nobody?.figures).toEqual([
      { name: "requests", counted: 0, stored: 2 },
      { name: "input_tokens", counted: 0, stored: 3 },
      { name: "output_tokens", counted: 0, stored: 4 },
    ]);
    const other = differences.find(({ keyId }) => keyId !== "key_nobody");
    expect(other?.figures.every(({ counted, stored }) => counted > 0 && stored === 0)).toBe(true);
    await execute("delete from usage_months where key_id = 'key_1'");
    await execute("insert into usage_months values ('key_nobody', '2026-11-01', 2, 7)");
    expect(await repair({ from: Date.parse("2026-11-01"), to: NOW })).toMatchObject({
      hours: 2,
      months: 1,
      repaired: 4,
    });
    expect(await sums()).toEqual(before);
    expect((await reconcile()).mismatches).toBe(0);
  });

  it("tells the first thousand differences and counts all", async () => {
    await execute(
      "insert into usage_hours (hour, key_id, model, channel, requests, failures, input_tokens, output_tokens, cached_tokens, reasoning_tokens) select '2026-11-19T05:00:00Z'::timestamptz + (n % 3) * interval '1 hour', 'key_' || n, 'm', 'mcp', 1, 0, 0, 0, 0, 0 from generate_series(1001, 2500) as n",
    );
    const { mismatches, differences } = await reconcile();
    expect([mismatches, differences.length]).toEqual([1_500, 1_000]);
  });

  it("looks at hours alone that are over and whose rows are kept", async () => {
    await execute("update usage_hours set requests = requests + 1");
    const hour = Date.parse("2026-11-21T09:00:00Z");
    const looked = async (asked: typeof range, retentionDays = RETENTION_DAYS) => {
      const { from, to, hours } = await reconcile(asked, retentionDays);
      return [from, to, hours];
    };
    // The hour that runs, and what is to come.
    expect(await looked({ from: hour, to: NOW + DAY_MS })).toEqual([hour, hour + HOUR_MS, 1]);
    expect(await looked({ from: NOW, to: NOW + DAY_MS })).toMatchObject({ 2: 0 });
    expect(await looked({ from: hour + 1, to: hour + HOUR_MS - 1 })).toMatchObject({ 2: 0 });
    const firstDay = Date.parse("2026-11-20T00:00:00Z");
    expect(await looked(range, 1)).toEqual([firstDay, hour + HOUR_MS, 34]);
    expect(await looked({ from: 0, to: FROM }, 1)).toMatchObject({ 2: 0 });
  });

  it("leaves the sums whose rows were dropped under a shorter retention", async () => {
    const before = await sums();
    await dropUsageDays(store.database.db, FROM + DAY_MS);
    expect(await reconcile()).toMatchObject({ from: FROM + DAY_MS, mismatches: 0 });
    expect(await repair()).toMatchObject({ hours: 0, repaired: 0 });
    expect(await sums()).toEqual(before);
  });

  it("leaves the sums of days that were dropped, whatever comes late for one of them", async () => {
    await dropUsageDays(store.database.db, FROM + 2 * DAY_MS);
    const late = randomUsage({ seed: 4, count: 1, keyIds: ["key_1"], from: FROM, to: FROM + 1 });
    await storeUsage(store.database, late);
    const before = await sums();
    expect(await reconcile()).toMatchObject({ from: FROM + 2 * DAY_MS, days: 2, mismatches: 0 });
    expect(await repair()).toMatchObject({ hours: 0, repaired: 0 });
    expect(await sums()).toEqual(before);
  });

  it("leaves the sums whose rows are dropped while a repair begins", async () => {
    const { startedAt } = victim();
    const from = Math.floor(startedAt / HOUR_MS) * HOUR_MS;
    await execute(`update usage_hours set requests = requests + 1 where ${ofVictim()}`);
    const before = await sums();
    let asked = 0;
    // The stored days, the comparison, and then the repair.
    const ask: typeof store.database.ask = async (work) => {
      asked += 1;
      if (asked === 3) await dropUsageDays(store.database.db, NOW);
      return store.database.ask(work);
    };
    const repairing = { ...reading(), database: { ...store.database, ask } };
    const done = await repairUsage(repairing, store.admin, { from, to: from + HOUR_MS });
    expect(done).toMatchObject({ hours: 1, repaired: 0 });
    expect(await sums()).toEqual(before);
  });

  it("leaves the sums over all keys whose rows are dropped while a repair begins", async () => {
    const { startedAt } = victim();
    const from = Math.floor(startedAt / HOUR_MS) * HOUR_MS;
    await execute(`update model_hours set requests = requests + 1 where ${ofVictimOverKeys()}`);
    const before = await sums();
    let asked = 0;
    // The stored days, the comparison, and then the repair.
    const ask: typeof store.database.ask = async (work) => {
      asked += 1;
      if (asked === 3) await dropUsageDays(store.database.db, NOW);
      return store.database.ask(work);
    };
    const repairing = { ...reading(), database: { ...store.database, ask } };
    const done = await repairUsage(repairing, store.admin, { from, to: from + HOUR_MS });
    expect(done).toMatchObject({ hours: 1, repaired: 0 });
    expect(await sums()).toEqual(before);
  });

  it("repairs nothing by itself", async () => {
    await execute(`update usage_hours set requests = requests + 1 where ${ofVictim()}`);
    const before = await sums();
    await reconcile();
    await daily().job.run();
    expect(await sums()).toEqual(before);
  });

  it("sees no difference while rows arrive, and a repair meanwhile loses none", async () => {
    let isOver = false;
    let arrived = 0;
    const keyIds = ["key_1", "key_2", "key_3"];
    const arriving = (async () => {
      for (let seed = 1_000; !isOver; seed += 1) {
        await storeUsage(
          store.database,
          randomUsage({ seed, count: 20, keyIds, from: FROM, to: NOW }),
        );
        arrived += 20;
      }
    })();
    const morning = { from: FROM, to: FROM + trialSize(10, 24) * HOUR_MS };
    for (let look = 0; look < trialSize(2, 4); look += 1) {
      expect((await reconcile(morning)).mismatches).toBe(0);
      await damage(
        `update usage_hours set requests = requests + 5 where hour < '2026-11-18T06:00:00Z' and key_id = 'key_1'`,
      );
      await damage(
        `update model_hours set requests = requests + 7 where hour between '2026-11-18T04:00:00Z' and '2026-11-18T09:00:00Z'`,
      );
      await Promise.all([repair(morning), repair(morning)]);
    }
    isOver = true;
    await arriving;
    expect(arrived).toBeGreaterThan(20);
    expect((await reconcile()).mismatches).toBe(0);
    const [total] = await store.database.db.execute<{ requests: number }>(
      sql`select sum(requests)::int as requests from usage_hours`,
    );
    expect(total?.requests).toBe(ledger.length + arrived);
    const [overKeys] = await store.database.db.execute<{ requests: number }>(
      sql`select sum(requests)::int as requests from model_hours`,
    );
    expect(overKeys?.requests).toBe(ledger.length + arrived);
  });

  it("leaves an audit entry for each hour and month that was set right", async () => {
    const entries = async () =>
      (await listAudit(store.access, { action: "usage.", limit: 1_000 })).entries;
    const before = await entries();
    await repair();
    expect(await entries()).toEqual(before);
    await execute(`update usage_hours set requests = requests + 1 where ${ofVictim()}`);
    await repair();
    const [entry, ...others] = await entries();
    expect(others).toHaveLength(before.length);
    expect(entry).toMatchObject({
      action: "usage.repair",
      targetKind: "usage",
      targetId: new Date(Math.floor(victim().startedAt / HOUR_MS) * HOUR_MS).toISOString(),
      actorName: "admin",
      details: { sums: 1 },
    });
  });

  it("changes nothing for an administrator whose session has ended meanwhile", async () => {
    const other = await store.actorFor("admin", ADMIN_PASSWORD);
    await logout(store.access, other);
    await execute(`update usage_hours set requests = requests + 1 where ${ofVictim()}`);
    const before = await sums();
    await expect(repairUsage(reading(), other, range)).rejects.toMatchObject({
      code: "session_expired",
    });
    expect(await sums()).toEqual(before);
  });
});

describe("the daily reconciliation", () => {
  afterEach(() => {
    store.world.now = NOW;
  });

  it("looks at the last day, once, and then at each day when it is over", async () => {
    const { lines, job } = daily();
    expect(job.figures()).toEqual({ lastRunAt: null, mismatches: 0 });
    await job.run();
    await job.run();
    expect(lines).toMatchObject([
      {
        level: "debug",
        from: "2026-11-20T00:00:00.000Z",
        to: "2026-11-21T00:00:00.000Z",
        hours: 24,
      },
    ]);
    expect(job.figures()).toEqual({ lastRunAt: NOW, mismatches: 0 });
    store.world.now = NOW + 2 * DAY_MS;
    await job.run();
    expect(lines[1]).toMatchObject({ from: "2026-11-21T00:00:00.000Z", hours: 48 });
    // A clock that is set back is no new day.
    store.world.now = NOW;
    await job.run();
    expect(lines).toHaveLength(2);
  });

  it("says in the log and in its figures what differs, once", async () => {
    await execute(
      "update usage_hours set requests = requests + 1, aborted = aborted + 2 where hour between '2026-11-20T03:00:00Z' and '2026-11-20T05:00:00Z'",
    );
    const { lines, job } = daily();
    await job.run();
    await job.run();
    const { mismatches } = job.figures();
    expect(mismatches).toBeGreaterThan(5);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: "error", mismatches });
    const differences = lines[0]?.["differences"] as { figures: unknown[] }[];
    expect(differences).toHaveLength(5);
    expect(differences[0]?.figures).toMatchObject([{ name: "requests" }, { name: "aborted" }]);
  });

  it("looks again at what differs, over further days, until it is repaired", async () => {
    await execute(`update usage_hours set requests = requests + 1 where ${ofVictim()}`);
    const { lines, job } = daily();
    store.world.now = Math.floor(victim().startedAt / DAY_MS + 1) * DAY_MS;
    await job.run();
    expect(job.figures().mismatches).toBe(1);
    // Days that agree take nothing away, nor does a week that nobody mends it.
    await makeDays(NOW, NOW + 9 * DAY_MS);
    const daysAtOnce = trialSize(3, 1);
    for (let days = 0; days < 9; days += daysAtOnce) {
      store.world.now += daysAtOnce * DAY_MS;
      await job.run();
      expect(job.figures().mismatches).toBe(1);
    }
    const told = lines.length;
    store.world.now += HOUR_MS;
    await job.run();
    expect(job.figures()).toEqual({ lastRunAt: store.world.now, mismatches: 1 });
    expect(lines).toHaveLength(told);
    // As a repair does it.
    await execute(`update usage_hours set requests = requests - 1 where ${ofVictim()}`);
    await job.run();
    expect(job.figures().mismatches).toBe(0);
    expect(lines.at(-1)).toMatchObject({ level: "debug", msg: "usage sums match their rows" });
    await job.run();
    expect(lines).toHaveLength(told + 1);
  });

  it("that fails looks again at what it did not see", async () => {
    const { lines, job } = daily();
    await execute("alter table usage_hours rename to elsewhere");
    await expect(job.run()).rejects.toThrow();
    await execute("alter table elsewhere rename to usage_hours");
    expect(job.figures().lastRunAt).toBeNull();
    await job.run();
    expect(lines).toMatchObject([{ hours: 24 }]);
  });

  it("makes up for a week at most", async () => {
    const { lines, job } = daily();
    await job.run();
    await makeDays(NOW, NOW + 20 * DAY_MS);
    store.world.now = NOW + 20 * DAY_MS;
    await job.run();
    expect(lines[1]).toMatchObject({ hours: 7 * 24 });
  });
});
