import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { users } from "../../../src/db/tables/users.ts";
import { workflowSchedules, workflows } from "../../../src/db/tables/workflows.ts";
import { createLog } from "../../../src/lib/log.ts";
import { triggerKey } from "../../../src/workflows/definition/trigger-key.ts";
import { NO_TICK, saveSchedules } from "../../../src/workflows/triggers/save-schedules.ts";
import { openTicker, type Ticker } from "../../../src/workflows/triggers/ticker.ts";
import { openTriggerStage, START, type TriggerStage } from "../../support/stages/trigger-stage.ts";

const EVERY_10_S = { kind: "schedule" as const, every: "10s" };
/** What is filled in when a trigger is read. */
const SAVED = { timezone: "UTC", coalesce: false, allow_loop: false };
const WAIT = { timeout: 30_000, interval: 10 };
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

let stage: TriggerStage;
const tickers: Ticker[] = [];

beforeAll(async () => {
  stage = await openTriggerStage();
});
beforeEach(async () => {
  await stage.database.db.delete(workflows);
  stage.clock.at = START;
  stage.license.isValid = true;
});
afterEach(async () => {
  for (const ticker of tickers.splice(0)) await ticker.close();
});
afterAll(() => stage.close());

/** One replica's, which looks when the test asks it to. */
function open(): Ticker {
  const ticker = openTicker(stage.store);
  tickers.push(ticker);
  return ticker;
}

async function lookAt(ticker: Ticker, at: number): Promise<void> {
  stage.clock.at = at;
  await ticker.look();
}

/** The times of the ticks that were taken, in seconds after the start. */
async function ticksOf(workflowId: string): Promise<readonly number[]> {
  const runs = await stage.runs(workflowId);
  return runs.map(({ trigger }) => (Date.parse(String(trigger["at"])) - START) / 1_000);
}

describe("scheduled starts", () => {
  it("start at each tick with one row that says which", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const ticker = open();
    await lookAt(ticker, START + 9_999);
    expect(await ticksOf(id)).toEqual([]);
    await lookAt(ticker, START + 10_000);
    await lookAt(ticker, START + 15_000);
    await stage.endAll(id);
    await lookAt(ticker, START + 20_400);
    const runs = await stage.runs(id);
    expect(runs).toMatchObject([{ status: "completed", rowsReceived: 1 }, { status: "running" }]);
    expect(runs[1]?.trigger).toEqual({
      kind: "schedule",
      every: "10s",
      timezone: "UTC",
      at: "2026-11-23T12:00:20.000Z",
    });
    expect(await stage.rows(runs[1])).toEqual([
      { event: "schedule.tick", occurred_at: "2026-11-23T12:00:20.000Z" },
    ]);
    expect((await stage.schedules(id))[0]?.nextAt).toEqual(new Date(START + 30_000));
  });

  it("are taken once, however many replicas try and die", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    for (let at = START + 10_000; at <= START + 300_000; at += 10_000) {
      stage.clock.at = at;
      // Twice the replicas that looked so far are gone, and others take over.
      if (at === START + 100_000 || at === START + 200_000) {
        for (const ticker of tickers.splice(0, 2)) await ticker.close();
      }
      while (tickers.length < 3) open();
      await Promise.all(tickers.map((ticker) => ticker.look()));
      await stage.endAll(id);
    }
    expect(await ticksOf(id)).toEqual(Array.from({ length: 30 }, (_, index) => 10 * (index + 1)));
  });

  it.each([
    ["three minutes ago", 185_000, [180]],
    ["59 minutes ago", 59 * 60_000 + 5_000, [59 * 60]],
  ])("that were missed come once, if the last was %s", async (_, aheadMs, ticks) => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    await lookAt(open(), START + aheadMs);
    expect(await ticksOf(id)).toEqual(ticks);
  });

  it("that were missed for longer come at their next time", async () => {
    const id = await stage.addWorkflow({ triggers: [{ kind: "schedule", cron: "30 12 * * *" }] });
    const ticker = open();
    await lookAt(ticker, START + DAY);
    expect(await ticksOf(id)).toEqual([]);
    await lookAt(ticker, START + DAY + HOUR / 2);
    expect(await ticksOf(id)).toEqual([(DAY + HOUR / 2) / 1_000]);
  });

  it.each([
    ["an hour ahead", HOUR],
    ["three days ahead", 3 * DAY],
  ])(
    "with a clock that is set %s and back: no tick twice, one catch-up, no storm",
    async (_, jumpMs) => {
      const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
      const ticker = open();
      const pass = async (from: number, to: number) => {
        for (let at = from; at <= to; at += 5_000) {
          await lookAt(ticker, at);
          await stage.endAll(id);
        }
      };
      await pass(START, START + 30_000);
      await pass(START + jumpMs + 35_000, START + jumpMs + 60_000);
      const ahead = await ticksOf(id);
      expect(ahead).toEqual(
        [10, 20, 30, 30, 40, 50, 60].map((s, at) => (at < 3 ? s : s + jumpMs / 1_000)),
      );
      // Back, until the time at which the clock was set ahead has passed.
      await pass(START + 65_000, START + 120_000);
      await lookAt(ticker, START + jumpMs + 65_000);
      await stage.endAll(id);
      await lookAt(ticker, START + jumpMs + 75_000);
      const all = await ticksOf(id);
      expect(new Set(all).size).toBe(all.length);
      // An hour is waited for; three days are not.
      const between = all.filter((tick) => tick > 60 && tick <= 120);
      expect(between).toEqual(jumpMs === HOUR ? [] : [70, 80, 90, 100, 110, 120]);
      expect(all.at(-1)).toBe(jumpMs / 1_000 + 70);
    },
  );

  it("wait once; further ones are discarded as overlaps", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const ticker = open();
    for (const seconds of [10, 20, 30, 40]) await lookAt(ticker, START + seconds * 1_000);
    expect(await ticksOf(id)).toEqual([10, 20]);
    expect((await stage.runs(id)).map(({ status }) => status)).toEqual(["running", "queued"]);
    expect(await stage.discarded(id)).toEqual({ overlap: 2 });
  });

  it("do not start without a license, for a disabled owner, or in a disabled workflow", async () => {
    const { db } = stage.database;
    const triggers = [EVERY_10_S];
    const [unlicensed, orphan] = [
      await stage.addWorkflow({ triggers }),
      await stage.addWorkflow({ triggers, owner: "other" }),
    ];
    const disabled = await stage.addWorkflow({ triggers, enabled: false });
    const ticker = open();
    await db.update(users).set({ state: "disabled" }).where(eq(users.id, "usr_other"));
    await lookAt(ticker, START + 10_000);
    stage.license.isValid = false;
    await lookAt(ticker, START + 20_000);
    await db.update(users).set({ state: "active" }).where(eq(users.id, "usr_other"));
    expect(await ticksOf(unlicensed)).toEqual([10]);
    expect(await stage.discarded(unlicensed)).toEqual({ license: 1 });
    expect(await stage.discarded(orphan)).toEqual({ owner: 1, license: 1 });
    expect(await stage.runs(disabled)).toEqual([]);
    expect(await stage.discarded(disabled)).toEqual({});
  });

  it("of an enabled workflow count from then, without those of the time before", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const ticker = open();
    stage.clock.at = START + 5_000;
    await stage.change(id, { enabled: false });
    expect((await stage.schedules(id))[0]?.nextAt).toEqual(NO_TICK);
    await lookAt(ticker, START + 60_000);
    stage.clock.at = START + 63_000;
    await stage.change(id, { enabled: true });
    await lookAt(ticker, START + 70_000);
    expect(await ticksOf(id)).toEqual([70]);
  });

  it("keep their rhythm when other triggers change, and end with theirs", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const daily = { kind: "schedule", cron: "@daily", timezone: "Europe/Berlin" };
    const [before] = await stage.schedules(id);
    stage.clock.at = START + 7_000;
    await stage.change(id, { triggers: [daily, { timezone: "UTC", ...EVERY_10_S }] });
    const after = await stage.schedules(id);
    expect(after).toHaveLength(2);
    expect(after).toContainEqual(before);
    expect(after.map(({ nextAt }) => nextAt)).toContainEqual(new Date("2026-11-23T23:00:00Z"));
    await stage.change(id, { triggers: [daily] });
    expect(await stage.schedules(id)).toHaveLength(1);
    await stage.database.db.delete(workflows).where(eq(workflows.id, id));
    expect(await stage.schedules(id)).toEqual([]);
  });

  it("of one broken schedule do not stop the others", async () => {
    const broken = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    // A trigger that this release cannot read.
    await stage.database.db
      .update(workflows)
      .set({ definition: { triggers: [{ kind: "schedule", cron: 7 }], steps: [] } })
      .where(eq(workflows.id, broken));
    const ticker = open();
    await lookAt(ticker, START + 10_000);
    expect(await ticksOf(id)).toEqual([10]);
    // For a minute it is left to replicas that can read it.
    expect((await stage.schedules(broken))[0]?.nextAt).toEqual(new Date(START + 10_000));
    await lookAt(ticker, START + 70_000);
    expect((await stage.schedules(broken))[0]?.nextAt).toEqual(new Date(START + 670_000));
  });

  it("of one that a replica cannot read are taken by another one, or that one later", async () => {
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const { db } = stage.database;
    const [known] = await db.select().from(workflows).where(eq(workflows.id, id));
    const write = (definition: unknown) =>
      db
        .update(workflows)
        .set({ definition: definition as typeof workflows.$inferInsert.definition })
        .where(eq(workflows.id, id));
    const unreadable = { triggers: [{ kind: "schedule", cron: 7 }], steps: [] };
    const readable = known?.definition;
    const ticker = open();
    await write(unreadable);
    await lookAt(ticker, START + 10_000);
    // What another replica reads.
    await write(readable);
    await lookAt(ticker, START + 15_000);
    expect(await ticksOf(id)).toEqual([10]);
    await stage.endAll(id);
    await write(unreadable);
    await lookAt(ticker, START + 80_000);
    await write(readable);
    await lookAt(ticker, START + 679_000);
    expect(await ticksOf(id)).toEqual([10]);
    await lookAt(ticker, START + 680_000);
    expect(await ticksOf(id)).toEqual([10, 680]);
  });

  it("of one in a time zone that this runtime does not know do not stop the others", async () => {
    const foreign = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    /** As another release has saved it. */
    const saveIn = async (timezone: string) => {
      const trigger = { kind: "schedule" as const, cron: "0 * * * *", ...SAVED, timezone };
      const { db } = stage.database;
      const definition = { triggers: [trigger], steps: [] };
      await db.update(workflows).set({ definition }).where(eq(workflows.id, foreign));
      await db
        .update(workflowSchedules)
        .set({ triggerKey: triggerKey(trigger) })
        .where(eq(workflowSchedules.workflowId, foreign));
    };
    await saveIn("Europe/Atlantis");
    const lines: string[] = [];
    const log = createLog("warn", { write: (line: string) => void lines.push(line) });
    const ticker = openTicker({ ...stage.store, log });
    tickers.push(ticker);
    await lookAt(ticker, START + 10_000);
    expect(await ticksOf(id)).toEqual([10]);
    expect((await stage.schedules(foreign))[0]?.nextAt).toEqual(new Date(START + 10_000));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("There is no time zone");
    await lookAt(ticker, START + 15_000);
    expect(lines).toHaveLength(1);
    // Its workflow can still be disabled.
    await stage.database.db
      .update(workflows)
      .set({ enabled: false })
      .where(eq(workflows.id, foreign));
    const stored = { kind: "schedule" as const, cron: "0 * * * *", ...SAVED };
    await saveSchedules(
      stage.database.db,
      foreign,
      [{ ...stored, timezone: "Europe/Atlantis" }],
      START + 15_000,
    );
    expect((await stage.schedules(foreign))[0]?.nextAt).toEqual(NO_TICK);
    await stage.database.db
      .update(workflows)
      .set({ enabled: true })
      .where(eq(workflows.id, foreign));
    // A runtime that knows the zone brings it back, as any start does.
    await saveIn("UTC");
    await lookAt(open(), START + 16_000);
    expect((await stage.schedules(foreign))[0]?.nextAt).toEqual(new Date(START + HOUR));
  });

  it("and a save of the workflow at the same time do not block each other", async () => {
    if (stage.database.kind === "embedded") return;
    const { db } = stage.database;
    const id = await stage.addWorkflow({ triggers: [EVERY_10_S] });
    const lines: string[] = [];
    const log = createLog("warn", { write: (line: string) => void lines.push(line) });
    const ticker = openTicker({ ...stage.store, log });
    tickers.push(ticker);
    stage.clock.at = START + 10_000;
    let look: Promise<void> | undefined;
    await db.transaction(async (transaction) => {
      await transaction.select().from(workflows).where(eq(workflows.id, id)).for("update");
      look = ticker.look();
      // The tick waits for a lock by now.
      await vi.waitFor(async () => {
        const [row] = await db.execute<{ waiting: number }>(
          sql`select count(*)::int as waiting from pg_locks where not granted and database = (
            select oid from pg_database where datname = current_database())
            or (not granted and locktype = 'transactionid')`,
        );
        expect(row?.waiting).toBeGreaterThan(0);
      }, WAIT);
      await saveSchedules(transaction, id, [{ ...EVERY_10_S, ...SAVED }], stage.clock.at);
    });
    await look;
    expect(await ticksOf(id)).toEqual([10]);
    // A deadlock would have undone one of the two.
    expect(lines).toEqual([]);
  });

  it("are late when the database cannot be asked for a minute, and on time again after it can", async () => {
    let elapsedMs = 0;
    let isAway = true;
    const { askOwn } = stage.database;
    const database = {
      ...stage.database,
      askOwn: ((work) =>
        isAway ? Promise.reject(new Error("no connection")) : askOwn(work)) as typeof askOwn,
    };
    const ticker = openTicker({ ...stage.store, database }, () => elapsedMs);
    tickers.push(ticker);
    await ticker.look();
    elapsedMs = 59_999;
    expect(ticker.isOnTime()).toBe(true);
    elapsedMs = 60_000;
    expect(ticker.isOnTime()).toBe(false);
    isAway = false;
    await ticker.look();
    expect(ticker.isOnTime()).toBe(true);
  });

  it("find what is due by the index", async () => {
    const plan = await stage.database.db.transaction(async (transaction) => {
      await transaction.execute(sql`set local enable_seqscan = off`);
      return transaction.execute(sql`explain select * from workflow_schedules
        where next_at <= now() order by next_at limit 100`);
    });
    expect(JSON.stringify(plan)).toContain("workflow_schedules_next_at_index");
  });
});
