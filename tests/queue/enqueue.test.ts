import { eq, isNull, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Db, withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { claimJobs, recordOutcome } from "../../src/queue/claims.ts";
import { redriveJobs } from "../../src/queue/end-jobs.ts";
import { enqueueInOrder } from "../../src/queue/enqueue.ts";
import { openedKind, openTestDatabase } from "../support/servers/databases/test-database.ts";

const NOW = Date.UTC(2027, 2, 1);
const TOPIC = "runs";

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(() => database.db.execute(sql`truncate outbox_events`));
afterAll(() => database.close());

const add = (
  transaction: Db,
  orderKey: string,
  kind: string,
  more: { cap?: number; now?: number } = {},
) =>
  enqueueInOrder(
    transaction,
    { topic: TOPIC, kind, body: {}, orderKey, cap: more.cap },
    more.now ?? NOW,
  );
const addNow = (orderKey: string, kind: string, more: { cap?: number; now?: number } = {}) =>
  withTransaction(database.db, (transaction) => add(transaction, orderKey, kind, more));
const claim = (limit = 20) => claimJobs(database.db, TOPIC, { limit, now: NOW, leaseMs: 20_000 });
const kindsOf = (jobs: readonly { readonly kind: string }[]) => jobs.map(({ kind }) => kind).sort();
const done = (job: { readonly id: string; readonly token: number }) =>
  recordOutcome(database.db, job, {
    outcome: { kind: "done" },
    nextAttemptAt: undefined,
    now: NOW,
  });

/** Claims and ends jobs one after the other, as long as there are any. */
async function workOff(): Promise<string[]> {
  const kinds: string[] = [];
  for (;;) {
    const [job] = await claim(1);
    if (job === undefined) return kinds;
    kinds.push(job.kind);
    expect(await done(job)).toBe(true);
  }
}

/** A promise that is resolved from outside. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe("jobs with one order key", () => {
  test("are claimed one at a time, and jobs of other keys beside them", async () => {
    for (const [key, kind] of [
      ["a", "a1"],
      ["a", "a2"],
      ["b", "b1"],
    ] as const)
      await addNow(key, kind);
    const first = await claim();
    expect(kindsOf(first)).toEqual(["a1", "b1"]);
    expect(await claim()).toEqual([]);
    for (const job of first) await done(job);
    expect(kindsOf(await claim())).toEqual(["a2"]);
  });

  test("keep the order of their commits, whatever their transactions' begin and clock", async () => {
    const begun = gate();
    const mayCommit = gate();
    const other = withTransaction(database.db, async (transaction) => {
      await add(transaction, "a", "commits first", { now: NOW });
      begun.open();
      await mayCommit.opened;
    });
    await begun.opened;
    // Its own time is earlier; so is the begin of its transaction where the database takes two at a time.
    const late = withTransaction(database.db, async (transaction) => {
      await transaction.execute(sql`select 1`);
      await add(transaction, "a", "commits second", { now: NOW - 60_000 });
    });
    if (openedKind === "postgres") {
      await addNow("b", "another key does not wait");
      expect(kindsOf(await claim())).toEqual(["another key does not wait"]);
    }
    mayCommit.open();
    await Promise.all([other, late]);
    expect(await workOff()).toEqual(["commits first", "commits second"]);
  });

  test("each see all that come before them, however many enqueue at once", async () => {
    const seen = new Map<string, number>();
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        withTransaction(database.db, async (transaction) => {
          const kind = `${index}`;
          const orderKey = `key ${index % 3}`;
          await transaction.execute(sql`select pg_sleep(${(index * 7) % 5} / 1000.0)`);
          await add(transaction, orderKey, kind);
          const rows = await transaction
            .select()
            .from(outboxEvents)
            .where(eq(outboxEvents.orderKey, orderKey));
          seen.set(kind, rows.length);
        }),
      ),
    );
    const rows = await database.db.select().from(outboxEvents);
    expect(rows).toHaveLength(60);
    for (const { kind, orderNumber } of rows) expect(orderNumber).toBe(seen.get(kind));
    expect(
      new Set(rows.map(({ orderKey, orderNumber }) => `${orderKey} ${orderNumber}`)).size,
    ).toBe(60);
  });

  test("wait while the first of them waits for its next try", async () => {
    await addNow("a", "first");
    await addNow("a", "second");
    const [first] = await claim();
    if (first === undefined) throw new Error("nothing was claimed");
    const outcome = { kind: "failed", error: "503" } as const;
    await recordOutcome(database.db, first, { outcome, nextAttemptAt: NOW + 5_000, now: NOW });
    expect(await claim()).toEqual([]);
    const later = await claimJobs(database.db, TOPIC, {
      limit: 20,
      now: NOW + 5_000,
      leaseMs: 1_000,
    });
    expect(kindsOf(later)).toEqual(["first"]);
  });

  test("that were given up and are redriven come after those that wait, never beside one that runs", async () => {
    for (const kind of ["dead 1", "dead 2", "runs"]) await addNow("a", kind);
    const dead: string[] = [];
    for (let count = 0; count < 2; count += 1) {
      const [job] = await claim(1);
      if (job === undefined) throw new Error("nothing was claimed");
      dead.push(job.id);
      const outcome = { kind: "refused", error: "410" } as const;
      await recordOutcome(database.db, job, { outcome, nextAttemptAt: undefined, now: NOW });
    }
    const [running] = await claim();
    expect(running?.kind).toBe("runs");
    await withTransaction(database.db, (transaction) => redriveJobs(transaction, dead, NOW));
    expect(await claim()).toEqual([]);
    await addNow("a", "enqueued after the redrive");
    if (running) await done(running);
    expect(await workOff()).toEqual(["dead 1", "dead 2", "enqueued after the redrive"]);
  });

  test("can be redriven in thousands, each with a key of its own", async () => {
    await database.db.execute(sql`
      insert into outbox_events (id, sink, kind, body, order_key, order_number, dead_at)
      select 'dead-' || number, ${TOPIC}, 'x', '{}', 'key ' || number, 1, now() from generate_series(1, 10000) number`);
    const ids = Array.from({ length: 10_000 }, (_, index) => `dead-${index + 1}`);
    await withTransaction(database.db, (transaction) => redriveJobs(transaction, ids, NOW));
    const waiting = await database.db.$count(outboxEvents, isNull(outboxEvents.deadAt));
    expect(waiting).toBe(10_000);
    expect(await claim()).toHaveLength(20);
  });
});

describe("the cap of an order key", () => {
  test("counts those that wait and not the one that runs, also while that waits for a worker", async () => {
    const states = [];
    for (const kind of ["1", "2", "3", "4"])
      states.push((await addNow("a", kind, { cap: 2 })).state);
    expect(states).toEqual(["stored", "stored", "stored", "full"]);
    const [running] = await claim(1);
    expect((await addNow("a", "5", { cap: 2 })).state).toBe("full");
    expect((await addNow("b", "of another key", { cap: 2 })).state).toBe("stored");
    if (running) await done(running);
    expect((await addNow("a", "6", { cap: 2 })).state).toBe("stored");
    expect((await addNow("a", "7", { cap: 2 })).state).toBe("full");
  });

  test("of 0 lets one run and none wait", async () => {
    expect((await addNow("a", "1", { cap: 0 })).state).toBe("stored");
    expect((await addNow("a", "2", { cap: 0 })).state).toBe("full");
  });

  test("holds when many enqueue at once, and the cause of a refused one still commits", async () => {
    const states = await Promise.all(
      Array.from({ length: 40 }, (_, index) => addNow("a", `${index}`, { cap: 10 })),
    );
    expect(states.filter(({ state }) => state === "stored")).toHaveLength(11);
    expect(await workOff()).toHaveLength(11);
  });
});
