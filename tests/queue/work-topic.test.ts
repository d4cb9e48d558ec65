import { type SQL, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { ServiceError } from "../../src/core/service-error.ts";
import { withTransaction } from "../../src/db/context.ts";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { createLog } from "../../src/lib/log.ts";
import { claimJobs, recordOutcome, renewClaims } from "../../src/queue/claims.ts";
import { redriveJobs, withdrawJobs } from "../../src/queue/end-jobs.ts";
import { enqueue, enqueueInOrder } from "../../src/queue/enqueue.ts";
import { findEvent, listEvents } from "../../src/queue/events.ts";
import { overdueEvents, queueFigures } from "../../src/queue/figures.ts";
import {
  type Job,
  type JobOutcome,
  STORE_AWAY,
  type Topic,
  type WorkContext,
} from "../../src/queue/topic.ts";
import { type TopicWorker, workTopic } from "../../src/queue/work-topic.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const WAIT = { timeout: 30_000, interval: 10 };
const LEASE_MS = 20_000;

let database: Database;
let lines: string[] = [];
const log = createLog("info", { write: (line: string) => void lines.push(line) });
const open: TopicWorker[] = [];
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events`);
  aheadMs = 0;
  lines = [];
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((worker) => worker.close()));
});
afterAll(() => database.close());

/** One replica's worker. */
function work(topic: Partial<Topic> & Pick<Topic, "work">): TopicWorker {
  const worker = workTopic(
    { db: database.db, clock, log },
    { name: "runs", pausesMs: [10, 10], ...topic },
  );
  open.push(worker);
  return worker;
}

const store = (topic: string, ...kinds: readonly string[]) =>
  withTransaction(database.db, (transaction) =>
    enqueue(
      transaction,
      kinds.map((kind) => ({ topic, kind, body: {} })),
      clock.now(),
    ),
  );
const storeInOrder = (orderKey: string, kind: string) =>
  withTransaction(database.db, (transaction) =>
    enqueueInOrder(transaction, { topic: "runs", kind, body: {}, orderKey }, clock.now()),
  );
const stored = () => database.db.select().from(outboxEvents);
async function onlyOne() {
  const [job] = await stored();
  if (job === undefined) throw new Error("no job");
  return job;
}
const claimOne = async (): Promise<Job> => {
  const [job] = await claimJobs(database.db, "runs", {
    limit: 1,
    now: clock.now(),
    leaseMs: LEASE_MS,
  });
  if (job === undefined) throw new Error("nothing was claimed");
  return job;
};
/** So much of every lease passes, by the database's time. */
const passLease = (ms: number) =>
  database.db.execute(
    sql`update outbox_events set lease_until = lease_until - make_interval(secs => ${ms / 1_000})`,
  );
const record = (job: Job, outcome: JobOutcome, nextAttemptAt?: number) =>
  recordOutcome(database.db, job, { outcome, nextAttemptAt, now: clock.now() });
const untilNonePending = () =>
  vi.waitFor(async () => {
    const rows = await stored();
    expect(
      rows.filter(({ deliveredAt, deadAt }) => deliveredAt === null && deadAt === null),
    ).toEqual([]);
  }, WAIT);
const untilAborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

describe("work that the gateway's own store does not answer", () => {
  const away = () => new ServiceError("storage_unavailable", "The database is not reachable now.");

  test("costs no try, and is looked for a second later, though more is waiting", async () => {
    const times: number[] = [];
    await store("runs", "one", "two", "three");
    work({
      concurrency: 1,
      pausesMs: [],
      async work() {
        times.push(performance.now());
        if (times.length < 4) throw away();
        return { kind: "done" };
      },
    });
    await untilNonePending();
    const gaps = times.slice(1, 4).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(900);
    expect(await stored()).toEqual(
      ["one", "two", "three"].map(() =>
        expect.objectContaining({ attempts: 1, deadAt: null, lastError: null }),
      ),
    );
    const said = lines.filter((line) => line.includes("the store is away"));
    expect(said).toHaveLength(1);
  });

  test("is a failure in the end, when the store answers all the others", async () => {
    let tries = 0;
    await store("runs", "asks too much");
    const worker = work({
      pausesMs: [],
      async work() {
        tries += 1;
        throw away();
      },
    });
    const passing = setInterval(() => {
      aheadMs += 1_000;
      worker.wake();
    }, 10);
    await untilNonePending();
    clearInterval(passing);
    expect(tries).toBe(11);
    expect(await stored()).toEqual([
      expect.objectContaining({ attempts: 1, lastError: "The database is not reachable now." }),
    ]);
  });

  test("is not retried by another replica before its pause", async () => {
    await store("runs", "any");
    const job = await claimOne();
    await record(job, STORE_AWAY, clock.now() + 1_000);
    await expect(claimOne()).rejects.toThrow("nothing was claimed");
    aheadMs = 1_000;
    expect(await claimOne()).toMatchObject({ id: job.id, attempts: 1 });
  });
});

describe("a claim", () => {
  test.each<[string, JobOutcome, number | undefined]>([
    ["success", { kind: "done" }, undefined],
    ["failure", { kind: "failed", error: "503" }, 1],
    ["last failure", { kind: "failed", error: "503" }, undefined],
    ["refusal", { kind: "refused", error: "410" }, undefined],
    ["return", { kind: "released" }, undefined],
  ])("that another worker has taken over records no %s", async (_, outcome, nextAttemptAt) => {
    await store("runs", "any");
    const stalled = await claimOne();
    await passLease(LEASE_MS + 1_000);
    const other = await claimOne();
    expect(other.token).toBeGreaterThan(stalled.token);
    const before = await onlyOne();
    expect(await record(stalled, outcome, nextAttemptAt)).toBe(false);
    expect(await renewClaims(database.db, [stalled], LEASE_MS)).toEqual(new Set());
    expect(await onlyOne()).toEqual(before);
    expect(await record(other, { kind: "done" })).toBe(true);
  });

  test("records after its lease when no other worker has taken the job over", async () => {
    await store("runs", "any");
    const job = await claimOne();
    await passLease(LEASE_MS + 1_000);
    expect(await record(job, { kind: "done" })).toBe(true);
  });

  test.each<[string, JobOutcome, number | undefined]>([
    ["success", { kind: "done" }, undefined],
    ["failure", { kind: "failed", error: "503" }, 60_000],
    ["last failure", { kind: "failed", error: "503" }, undefined],
  ])("that has recorded a %s says so when it is asked again", async (_, outcome, pauseMs) => {
    await store("runs", "any");
    const job = await claimOne();
    const now = clock.now();
    const nextAttemptAt = pauseMs === undefined ? undefined : now + pauseMs;
    const once = () => recordOutcome(database.db, job, { outcome, nextAttemptAt, now });
    expect(await once()).toBe(true);
    const stored = await onlyOne();
    expect(await once()).toBe(true);
    expect(await onlyOne()).toEqual(stored);
    expect(await record({ ...job, token: job.token + 1 }, outcome, nextAttemptAt)).toBe(false);
  });

  test("records nothing when its job was handed back, given up or redriven meanwhile", async () => {
    await store("runs", "any");
    const released = await claimOne();
    await record(released, { kind: "released" });
    expect(await record(released, { kind: "done" })).toBe(false);
    const withdrawn = await claimOne();
    const given = { reason: "stopped", now: clock.now() };
    expect(await withdrawJobs(database.db, [withdrawn.id], given)).toEqual([withdrawn.id]);
    expect(await withdrawJobs(database.db, [withdrawn.id], given)).toEqual([]);
    expect(await record(withdrawn, { kind: "done" })).toBe(false);
    await withTransaction(database.db, (transaction) =>
      redriveJobs(transaction, [withdrawn.id], clock.now()),
    );
    expect(await record(withdrawn, { kind: "done" })).toBe(false);
    expect(await onlyOne()).toMatchObject({ deliveredAt: null, attempts: 0, claim: 2 });
  });

  test("of a worker that died is taken over within 30 s, looks at the queue included", async () => {
    await store("runs", "any");
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const dying = work({
      work: async (_, { signal }) => {
        begun();
        await untilAborted(signal);
        return { kind: "released" };
      },
    });
    await isBegun;
    const [{ seconds } = { seconds: 0 }] = await database.db.execute<{ seconds: number }>(
      sql`select extract(epoch from lease_until - now())::float8 as seconds from outbox_events`,
    );
    expect(seconds).toBeLessThanOrEqual(29);
    expect(seconds).toBeGreaterThan(10);
    await dying.close();
    // The same claim, left by a process that is gone.
    await claimOne();
    await passLease(28_000);
    const done: string[] = [];
    work({
      work: async ({ kind, attempts }) => {
        done.push(`${kind} ${attempts}`);
        return { kind: "done" };
      },
    });
    await untilNonePending();
    expect(done).toEqual(["any 2"]);
  });
});

describe("work that takes longer than a lease", () => {
  test("keeps its claim by renewals, and two replicas do not do it twice", async () => {
    await store("runs", "long");
    let times = 0;
    const long = async (): Promise<JobOutcome> => {
      times += 1;
      await new Promise((resolve) => setTimeout(resolve, 3_500));
      return { kind: "done" };
    };
    for (let replica = 0; replica < 2; replica += 1) work({ work: long, leaseMs: 1_000 });
    await untilNonePending();
    expect(times).toBe(1);
    expect(await onlyOne()).toMatchObject({ attempts: 1, deadAt: null });
  });

  test("is counted and logged once though the answer of its record was lost", async () => {
    await store("runs", "refused");
    let isLost = false;
    const db = new Proxy(database.db, {
      get(target, name) {
        if (name !== "update" || isLost) return Reflect.get(target, name);
        isLost = true;
        const returning = async (set: object, where: SQL) => {
          await target.update(outboxEvents).set(set).where(where);
          throw Object.assign(new Error("lost"), { code: "CONNECTION_CLOSED" });
        };
        return () => ({
          set: (set: object) => ({
            where: (where: SQL) => ({ returning: () => returning(set, where) }),
          }),
        });
      },
    });
    const counts = { delivered: 0, failed: 0, given_up: 0 };
    const topic = { name: "runs", pausesMs: [10], counts };
    const refuse = async (): Promise<JobOutcome> => ({ kind: "refused", error: "410" });
    open.push(workTopic({ db, clock, log }, { ...topic, work: refuse }));
    await vi.waitFor(() => expect(counts).toEqual({ delivered: 0, failed: 0, given_up: 1 }), WAIT);
    expect(lines.join("")).toContain("a job failed and is given up");
    expect(lines.join("")).not.toContain("is dropped");
  });

  test("is aborted when its claim was lost, and its outcome is dropped", async () => {
    await store("runs", "stalls");
    const reasons: unknown[] = [];
    work({
      leaseMs: 5_000,
      work: async ({ id }, { signal }) => {
        // Another worker takes the job over, and works on it still.
        await database.db.execute(sql`
          update outbox_events set claim = claim + 1, lease_until = now() + interval '1 hour' where id = ${id}`);
        await untilAborted(signal);
        reasons.push(signal.reason);
        return { kind: "done" };
      },
    });
    await vi.waitFor(
      () => expect(lines.join("")).toContain("the outcome of a job is dropped"),
      WAIT,
    );
    expect(reasons).toMatchObject([{ name: "ClaimLost" }]);
    expect(await onlyOne()).toMatchObject({ deliveredAt: null, claim: 2 });
  });

  test("is aborted within two seconds after its job was withdrawn", async () => {
    await store("runs", "stopped by a person");
    let aborted: number | undefined;
    let begun: string | undefined;
    work({
      work: async ({ id }, { signal }) => {
        begun = id;
        await untilAborted(signal);
        aborted = performance.now();
        return { kind: "released" };
      },
    });
    await vi.waitFor(() => expect(begun).toBeDefined(), WAIT);
    const at = performance.now();
    await withdrawJobs(database.db, [begun ?? ""], {
      reason: "stopped by a person",
      now: clock.now(),
    });
    await vi.waitFor(() => expect(aborted).toBeDefined(), WAIT);
    // A renewal every two seconds, and what a busy machine adds.
    expect((aborted ?? 0) - at).toBeLessThan(5_000);
    expect(await onlyOne()).toMatchObject({ lastError: "stopped by a person", attempts: 1 });
  });

  test("stores progress only while it holds the claim, and counts its tries from there", async () => {
    await store("runs", "in steps");
    const results: unknown[] = [];
    const attempts: number[] = [];
    const step = (context: WorkContext) =>
      withTransaction(database.db, (transaction) => context.checkpoint(transaction));
    work({
      pausesMs: [10],
      work: async ({ id, attempts: tries }, context) => {
        attempts.push(tries);
        if (attempts.length <= 3) {
          await step(context);
          return { kind: "failed", error: "the next step failed" };
        }
        await database.db.execute(sql`update outbox_events set claim = claim + 1 where id = ${id}`);
        await step(context).catch((thrown: unknown) => results.push(thrown));
        return { kind: "done" };
      },
    });
    // Without the checkpoints the second failure would have been the last.
    await vi.waitFor(() => expect(results).toMatchObject([{ name: "ClaimLost" }]), WAIT);
    expect(attempts).toEqual([1, 2, 2, 2]);
    expect(await onlyOne()).toMatchObject({ deadAt: null, deliveredAt: null });
  });
});

describe("jobs of a topic", () => {
  test("with an order key run one at a time and in order on two replicas, and all keys in parallel", async () => {
    const keys = ["a", "b", "c"];
    const order: string[] = [];
    const running = new Map<string, number>();
    let mostOfAKey = 0;
    for (let index = 0; index < 8; index += 1) {
      for (const key of keys) await storeInOrder(key, `${key}.${index}`);
    }
    let failures = 0;
    const run = async ({ kind }: Job): Promise<JobOutcome> => {
      const [key = ""] = kind.split(".");
      running.set(key, (running.get(key) ?? 0) + 1);
      mostOfAKey = Math.max(mostOfAKey, running.get(key) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running.set(key, (running.get(key) ?? 0) - 1);
      // Now and then one fails: those after it wait for its next try.
      if (kind.endsWith("3") && failures++ % 2 === 0) return { kind: "failed", error: "once" };
      order.push(kind);
      return { kind: "done" };
    };
    for (let replica = 0; replica < 2; replica += 1)
      work({ work: run, concurrency: 4, pausesMs: [20, 20, 20] });
    await untilNonePending();
    expect(mostOfAKey).toBe(1);
    for (const key of keys) {
      const expected = Array.from({ length: 8 }, (_, index) => `${key}.${index}`);
      expect(order.filter((kind) => kind.startsWith(key))).toEqual(expected);
    }
  });

  test("do not keep those of another topic waiting, however many there are and however long they take", async () => {
    await database.db.execute(sql`
      insert into outbox_events (id, sink, kind, body)
      select 'slow-' || number, 'slow', 'x', '{}' from generate_series(1, 2000) number`);
    let slow = 0;
    work({
      name: "slow",
      concurrency: 3,
      work: async (_, { signal }) => {
        slow += 1;
        await untilAborted(signal);
        return { kind: "released" };
      },
    });
    await vi.waitFor(() => expect(slow).toBe(3), WAIT);
    const quick = work({ work: async () => ({ kind: "done" }) });
    await store("runs", ...Array.from({ length: 50 }, (_, index) => `${index}`));
    quick.wake();
    await vi.waitFor(async () => {
      const done = (await stored()).filter(({ deliveredAt }) => deliveredAt !== null);
      expect(done).toHaveLength(50);
    }, WAIT);
    expect(slow).toBe(3);
  });

  test("are retried after its pauses, by the clock, then dead, and redriven with all their tries", async () => {
    await store("runs", "fails");
    let tries = 0;
    let isBroken = true;
    const topic = {
      pausesMs: [3_600_000, 7_200_000],
      work: async (): Promise<JobOutcome> => {
        tries += 1;
        return isBroken ? { kind: "failed", error: `try ${tries}` } : { kind: "done" };
      },
    };
    const worker = work(topic);
    for (const [index, pauseMs] of topic.pausesMs.entries()) {
      await vi.waitFor(
        async () =>
          expect(await onlyOne()).toMatchObject({ attempts: index + 1, leaseUntil: null }),
        WAIT,
      );
      expect((await onlyOne()).nextAttemptAt.getTime()).toBeGreaterThan(
        clock.now() + pauseMs * 0.7,
      );
      aheadMs += pauseMs * 1.2;
      worker.wake();
    }
    await untilNonePending();
    const dead = await onlyOne();
    expect(dead).toMatchObject({ attempts: 3, lastError: "try 3", deliveredAt: null });
    expect(lines.filter((line) => line.includes("given up"))).toHaveLength(1);
    isBroken = false;
    await withTransaction(database.db, (transaction) =>
      redriveJobs(transaction, [dead.id], clock.now()),
    );
    worker.wake();
    await untilNonePending();
    expect(await onlyOne()).toMatchObject({ attempts: 1, deadAt: null, lastError: null });
  });

  test("whose workers are lost at every try are given up, too", async () => {
    await store("runs", "kills its worker");
    for (let count = 0; count < 3; count += 1) {
      await claimOne();
      await passLease(LEASE_MS + 1_000);
    }
    work({ work: () => Promise.reject(new Error("never called")) });
    await untilNonePending();
    expect(await onlyOne()).toMatchObject({
      deliveredAt: null,
      lastError: "in its last try the worker was lost",
    });
  });

  test("whose work throws fail, with nothing of the message stored", async () => {
    await store("runs", "throws");
    work({ pausesMs: [], work: () => Promise.reject(new TypeError("canary: what the job held")) });
    await untilNonePending();
    expect(await onlyOne()).toMatchObject({ lastError: "TypeError", attempts: 1 });
  });

  test("are not started while it is paused", async () => {
    await store("runs", "waits");
    let isPaused = true;
    work({ isPaused: () => isPaused, work: async () => ({ kind: "done" }) });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await onlyOne()).toMatchObject({ attempts: 0, claim: 0 });
    isPaused = false;
    await untilNonePending();
  });

  test("are counted by topic, those that wait for long are found, and only events are listed as events", async () => {
    await store("runs", "one", "two");
    await store("internal", "three");
    const job = await claimOne();
    await record(job, { kind: "refused", error: "410" });
    aheadMs = 60_000;
    const figures = await queueFigures(database.db, clock.now());
    expect([...figures.keys()].sort()).toEqual(["internal", "runs"]);
    expect(figures.get("runs")).toMatchObject({ pending: 1, dead: 1 });
    expect(figures.get("runs")?.oldestAgeSeconds).toBeGreaterThanOrEqual(59);
    expect(await overdueEvents(database.db, clock.now(), "other", ["runs"])).toMatchObject([
      { sink: "runs", count: 1 },
    ]);
    const { events } = await listEvents({ database }, { limit: 10 });
    expect(events.map(({ kind }) => kind)).toEqual(["three"]);
    await expect(findEvent({ database }, job.id)).rejects.toThrow("There is no such event.");
    expect(await overdueEvents(database.db, clock.now(), "other")).toMatchObject([
      { sink: "internal" },
    ]);
  });
});

describe("a stop", () => {
  test("waits for work that ends soon, hands back the rest and claims no more", async () => {
    await store("runs", "quick", "slow");
    let begun = 0;
    const worker = work({
      work: async ({ kind }, { signal }) => {
        begun += 1;
        if (kind === "slow") {
          await untilAborted(signal);
          throw signal.reason;
        }
        await new Promise((resolve) => setTimeout(resolve, 300));
        return { kind: "done" };
      },
    });
    await vi.waitFor(() => expect(begun).toBe(2), WAIT);
    const closed = worker.close();
    await store("runs", "too late");
    worker.wake();
    await closed;
    const rows = new Map((await stored()).map((row) => [row.kind, row]));
    expect(rows.get("quick")?.deliveredAt).not.toBeNull();
    expect(rows.get("slow")).toMatchObject({ attempts: 0, leaseUntil: null, lastError: null });
    expect(rows.get("too late")).toMatchObject({ attempts: 0, claim: 0 });
    // Another replica takes over at once.
    work({ work: async () => ({ kind: "done" }) });
    await untilNonePending();
  });
});
