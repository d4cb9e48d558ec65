import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { engineDownAlert } from "../../../src/backends/engine-down.ts";
import type { AlertRule, AlertWindow, Finding } from "../../../src/core/part.ts";
import type { Database } from "../../../src/db/database.ts";
import { alertSuppressions, outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createLog } from "../../../src/lib/log.ts";
import { type AlertCheck, createAlertCheck } from "../../../src/operations/alerts/alert-check.ts";
import { enqueue as enqueueJob } from "../../../src/queue/enqueue.ts";
import { outboxBacklogAlert } from "../../../src/queue/outbox-backlog.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOON = Date.UTC(2026, 7, 14, 12);

let database: Database;
let now: number;
let wakes: number;
let lines: { level: string; msg: string; type?: string }[];
const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
const open: AlertCheck[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events, alert_suppressions`);
  now = NOON;
  wakes = 0;
  lines = [];
});
afterEach(async () => {
  for (const check of open.splice(0)) await check.close();
});
afterAll(() => database.close());

function wake(): void {
  wakes += 1;
}

/** One replica's check of these rules. */
function replica(rules: readonly AlertRule[], { hasWebhook = true } = {}): AlertCheck {
  const check = createAlertCheck({
    db: database.db,
    clock: { now: () => now },
    log,
    rules: () => rules,
    webhook: hasWebhook ? { wake } : undefined,
  });
  open.push(check);
  return check;
}

/** The rule of the local engine, which answers as told. */
const engineRule = (isReachable: () => Promise<boolean>) =>
  engineDownAlert({ isReachable }, { LLM_BACKEND: "vllm" });

/** A rule as an area brings it. */
const rule = (type: string, window: AlertWindow, find: AlertRule["find"]): AlertRule => ({
  type,
  window,
  find,
});
const finding = (subject: string, more: Partial<Finding> = {}): Finding => ({
  subject,
  text: `${subject} is broken.`,
  details: { id: subject },
  ...more,
});
const broken = (subject: string) => finding(subject, { over: "it works again" });

const stored = () => database.db.select().from(outboxEvents).orderBy(outboxEvents.createdAt);
const kinds = async () => (await stored()).map(({ kind }) => kind);
const said = (level: string) => lines.filter((line) => line.level === level);

/** The alerts that each look at these moments, from noon on, has stored. */
async function alertsAt(check: AlertCheck, momentsMs: readonly number[]): Promise<number[]> {
  const counts: number[] = [];
  for (const momentMs of momentsMs) {
    const before = (await stored()).length;
    now = NOON + momentMs;
    await check.run();
    counts.push((await stored()).length - before);
  }
  return counts;
}

test("names in a text command no chat that it is posted to, and its details keep them as they are", async () => {
  const name = "<!channel> & <https://a.test|b>";
  const found = finding("wf_1", { text: `${name} failed.`, details: { name } });
  await replica([rule("pipeline_failed", HOUR_MS, async () => [found])]).run();
  const [event] = await stored();
  expect(event?.body).toMatchObject({
    text: "&lt;!channel&gt; &amp; &lt;https://a.test|b&gt; failed.",
    details: { name },
  });
  expect(said("warn")).toMatchObject([{ msg: `${name} failed.`, name }]);
});

describe("llm_backend_down", () => {
  test("is told when the engine does not answer twice in a row, and its return is in the log", async () => {
    let answers = [false, false];
    const check = replica([engineRule(async () => answers.shift() ?? true)]);
    await check.run();
    const [event] = await stored();
    expect(event).toMatchObject({ sink: "alert_webhook", kind: "llm_backend_down" });
    expect(event?.body).toEqual({
      text: "The local engine (vllm) does not answer; calls of its models fail until it does. Look whether it runs, and at LLM_BASE_URL.",
      type: "llm_backend_down",
      details: { backend: "vllm", at: expect.any(String) },
    });
    expect(said("warn")).toMatchObject([{ type: "llm_backend_down", msg: event?.body["text"] }]);
    expect(wakes).toBe(1);
    await check.run();
    expect(said("info")).toMatchObject([
      { type: "llm_backend_down", msg: "the local engine answers again" },
    ]);
    await check.run();
    expect(said("info")).toHaveLength(1);

    // One lost probe, before or after one that came through, is no news.
    answers = [false, true];
    await check.run();
    expect(await kinds()).toEqual(["llm_backend_down"]);
    expect(lines).toHaveLength(2);
  });

  test("is told again an hour later and not a moment sooner", async () => {
    const check = replica([engineRule(async () => false)]);
    expect(await alertsAt(check, [0, 900_000, HOUR_MS - 1, HOUR_MS, 2 * HOUR_MS - 1])).toEqual([
      1, 0, 0, 1, 0,
    ]);
    expect(said("warn")).toHaveLength(2);
  });

  test("is told by the log alone when it is down again within the hour", async () => {
    let isUp = false;
    const check = replica([engineRule(async () => isUp)]);
    await check.run();
    isUp = true;
    await check.run();
    isUp = false;
    now += 900_000;
    await check.run();
    await check.run();
    expect(await kinds()).toEqual(["llm_backend_down"]);
    expect(said("warn")).toHaveLength(1);
    expect(said("info").map(({ msg }) => msg)).toEqual([
      "the local engine answers again",
      expect.stringMatching(/does not answer.* An alert about it was sent recently\.$/),
    ]);
  });
});

describe("a rule whose window is a length of time", () => {
  test("is sent about each subject, again after the window", async () => {
    const servers = [broken("one")];
    const check = replica([rule("server_error", 6 * HOUR_MS, async () => servers)]);
    expect(await alertsAt(check, [0, 6 * HOUR_MS - 1])).toEqual([1, 0]);
    servers.push(broken("two"));
    expect(await alertsAt(check, [6 * HOUR_MS - 1, 6 * HOUR_MS, 7 * HOUR_MS])).toEqual([1, 1, 0]);
    expect((await stored()).map(({ body }) => body["details"])).toMatchObject([
      { id: "one" },
      { id: "two" },
      { id: "one" },
    ]);
    servers.shift();
    await check.run();
    expect(said("info")).toMatchObject([{ type: "server_error", id: "one" }]);
  });
});

describe("a rule whose window is permanent", () => {
  const LOOK_BACK_MS = 2 * DAY_MS;

  test("is sent once about each subject, over restarts and for as long as it is found", async () => {
    let runs = [{ id: "run_1", failedAt: NOON }];
    const rules = [
      rule("run_failed", "permanently", async (at) =>
        runs.filter(({ failedAt }) => failedAt >= at - LOOK_BACK_MS).map(({ id }) => finding(id)),
      ),
    ];
    const check = replica(rules);
    expect(await alertsAt(check, [0, HOUR_MS, DAY_MS, 2 * DAY_MS])).toEqual([1, 0, 0, 0]);
    const restarted = replica(rules);
    expect(await alertsAt(restarted, [DAY_MS, 2 * DAY_MS, 3 * DAY_MS])).toEqual([0, 0, 0]);
    runs = [{ id: "run_2", failedAt: now }, ...runs];
    expect(await alertsAt(restarted, [3 * DAY_MS, 3 * DAY_MS + HOUR_MS])).toEqual([1, 0]);
    expect((await stored())[1]?.body).toEqual({
      text: "run_2 is broken.",
      type: "run_failed",
      details: { id: "run_2", at: expect.any(String) },
    });
    // It is an event: nothing is ever over.
    expect(said("info")).toEqual([]);
  });

  test("of very many subjects is sent a hundred at a time, and about none twice", async () => {
    const runs = Array.from({ length: 250 }, (_, index) => finding(`run_${index}`));
    const check = replica([rule("run_failed", "permanently", async () => runs)]);
    expect(await alertsAt(check, [0, 1, 2, 3])).toEqual([100, 100, 50, 0]);
    const subjects = await database.db.select().from(alertSuppressions);
    expect(new Set(subjects.map(({ subject }) => subject)).size).toBe(250);
  });
});

describe("a rule whose window is as long as the state", () => {
  test("is sent once while the state lasts, and again after its end", async () => {
    // How the runs of one workflow ended, each with its moment.
    const ended: { failed: boolean; at: number }[] = [];
    const rules = [
      rule("failures_in_a_row", "while it lasts", async () => {
        const row = ended.slice(ended.findLastIndex(({ failed }) => !failed) + 1);
        const [first] = row;
        if (first === undefined || row.length < 3) return [];
        const text = `It failed ${row.length} times in a row.`;
        return [finding("wf_1", { text, since: first.at, over: "it fails no more" })];
      }),
    ];
    let check = replica(rules);
    const end = (failed: boolean) => ended.push({ failed, at: now });
    const alertsNow = async () => (await alertsAt(check, [now - NOON]))[0];

    end(true);
    now += HOUR_MS;
    end(true);
    expect(await alertsNow()).toBe(0);
    now += HOUR_MS;
    end(true);
    expect(await alertsNow()).toBe(1);
    // For as long as they continue, be it for months, and over a restart.
    for (let day = 0; day < 100; day += 1) {
      now += DAY_MS;
      end(true);
      if (day === 50) check = replica(rules);
      expect(await alertsNow()).toBe(0);
    }
    now += HOUR_MS;
    end(false);
    expect(await alertsNow()).toBe(0);
    // The second process learnt from the table that an alert had been sent.
    expect(said("info").map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^It failed 54 times/),
      "it fails no more",
    ]);
    for (const expected of [0, 0, 1, 0]) {
      now += SECOND_MS;
      end(true);
      expect(await alertsNow()).toBe(expected);
    }
  });
});

describe("event_outbox_backlog", () => {
  const LIMIT_SECONDS = 600;
  const limitMs = LIMIT_SECONDS * SECOND_MS;
  const backlog = () =>
    replica([outboxBacklogAlert(database.db, { ALERT_EVENT_OUTBOX_AGE_SEC: LIMIT_SECONDS })]);
  const enqueue = (kind = "key_budget_warning") =>
    enqueueJob(database.db, { topic: "alert_webhook", kind, body: {} }, now);
  const deliver = (kind: string) =>
    database.db
      .update(outboxEvents)
      .set({ deliveredAt: new Date(now) })
      .where(eq(outboxEvents.kind, kind));

  test("is told when an event is undelivered for longer than the limit, once an hour", async () => {
    await enqueue();
    const check = backlog();
    expect(await alertsAt(check, [limitMs, limitMs + 1])).toEqual([0, 1]);
    expect((await stored())[1]).toMatchObject({
      kind: "event_outbox_backlog",
      body: {
        text: "An event is undelivered for 600 s, the limit being 600 s. It is tried on; GET /api/admin/events?state=pending says why.",
        type: "event_outbox_backlog",
        details: {
          undelivered: 1,
          oldest_age_seconds: 600,
          limit_seconds: 600,
          sinks: { alert_webhook: 1 },
        },
      },
    });
    await deliver("event_outbox_backlog");
    expect(await alertsAt(check, [limitMs + HOUR_MS, limitMs + HOUR_MS + 1])).toEqual([0, 1]);
    await deliver("key_budget_warning");
    await check.run();
    expect(said("info")).toMatchObject([{ type: "event_outbox_backlog" }]);
  });

  test("does not feed itself: while its receiver is away there is one of it, and the log goes on", async () => {
    await enqueue();
    const check = backlog();
    const hours = Array.from({ length: 60 }, (_, hour) => limitMs + 1 + hour * HOUR_MS);
    const counts = await alertsAt(check, hours);
    expect(counts.reduce((sum, count) => sum + count)).toBe(1);
    expect(said("warn")).toHaveLength(60);
    // It alone is no backlog.
    await deliver("key_budget_warning");
    now += HOUR_MS;
    await check.run();
    expect(said("warn")).toHaveLength(60);
    expect(said("info")).toMatchObject([{ type: "event_outbox_backlog" }]);
  });

  test("takes no notice of what was delivered or given up", async () => {
    await enqueue();
    await enqueue();
    const [first, second] = await stored();
    const set = (id = "", change: object) =>
      database.db.update(outboxEvents).set(change).where(eq(outboxEvents.id, id));
    await set(first?.id, { deliveredAt: new Date(now) });
    await set(second?.id, { deadAt: new Date(now) });
    expect(await alertsAt(backlog(), [limitMs + 1])).toEqual([0]);
  });
});

describe("of several replicas", () => {
  test("one sends each alert, and one again in the next window", async () => {
    const rules = [
      engineRule(async () => false),
      rule("server_error", 6 * HOUR_MS, async () => [broken("one")]),
    ];
    const replicas = [replica(rules), replica(rules), replica(rules)];
    const checkAll = () => Promise.all(replicas.map((check) => check.run()));
    await checkAll();
    expect((await kinds()).sort()).toEqual(["llm_backend_down", "server_error"]);
    expect(said("warn")).toHaveLength(2);
    now += HOUR_MS;
    await checkAll();
    expect((await kinds()).sort()).toEqual([
      "llm_backend_down",
      "llm_backend_down",
      "server_error",
    ]);
  });
});

describe("without a webhook", () => {
  test("alerts are only logged", async () => {
    const rules = [rule("server_error", 6 * HOUR_MS, async () => [broken("one")])];
    const check = replica(rules, { hasWebhook: false });
    expect(await alertsAt(check, [0, HOUR_MS, 6 * HOUR_MS])).toEqual([0, 0, 0]);
    expect(said("warn")).toHaveLength(2);
  });
});

describe("a rule that fails", () => {
  test("keeps no other one from its work, and the check rejects at its end", async () => {
    let isBroken = false;
    const check = replica([
      rule("server_error", 6 * HOUR_MS, async () => {
        if (isBroken) throw new Error("of a part");
        return [broken("one")];
      }),
      rule("backlog", HOUR_MS, async () => [broken("queue")]),
    ]);
    await check.run();
    expect(await kinds()).toHaveLength(2);
    isBroken = true;
    now += HOUR_MS;
    for (let look = 0; look < 2; look += 1)
      await expect(check.run()).rejects.toThrow(/^These alerts fail\. server_error: /);
    expect((await kinds()).filter((kind) => kind === "backlog")).toHaveLength(2);
    // Who runs it says so.
    expect(said("warn").filter(({ msg }) => msg.includes("cannot be checked"))).toEqual([]);
    expect(said("info")).toEqual([]);
    isBroken = false;
    await check.run();
    expect(said("info")).toMatchObject([{ types: ["server_error"] }]);
  });

  test("does so too when its alert cannot be stored, until it can be", async () => {
    const check = replica([engineRule(async () => false)]);
    await database.db.execute(
      sql`alter table outbox_events add constraint refuse_all check (false) not valid`,
    );
    try {
      await expect(check.run()).rejects.toThrow(/llm_backend_down: The database failed with 23514/);
    } finally {
      await database.db.execute(sql`alter table outbox_events drop constraint refuse_all`);
    }
    await check.run();
    expect(await kinds()).toEqual(["llm_backend_down"]);
  });

  test("is no failure of the check while the database is away, and is said once", async () => {
    let isAway = true;
    const check = replica([
      rule("run_failed", "permanently", async () => {
        if (isAway) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
        return [];
      }),
    ]);
    await check.run();
    await check.run();
    expect(said("warn")).toMatchObject([{ types: ["run_failed"] }]);
    isAway = false;
    await check.run();
    expect(said("info")).toMatchObject([{ types: ["run_failed"] }]);
  });
});

describe("what was sent long ago", () => {
  test("is forgotten after a month, but for what lasts, and so is what a wrong clock sent", async () => {
    const sent = (type: string, subject: string, at: number) => ({
      type,
      subject,
      lastSentAt: new Date(at),
    });
    await database.db
      .insert(alertSuppressions)
      .values([
        sent("key_budget_warning", "key_1", now - 31 * DAY_MS),
        sent("key_budget_warning", "key_2", now - 29 * DAY_MS),
        sent("failures_in_a_row", "wf_1", now - 300 * DAY_MS),
        sent("failures_in_a_row", "wf_2", now - 300 * DAY_MS),
        sent("llm_backend_down", "engine", now + 400 * DAY_MS),
      ]);
    const lasting = finding("wf_1", { since: now - 301 * DAY_MS });
    const check = replica([rule("failures_in_a_row", "while it lasts", async () => [lasting])]);
    await check.run();
    const left = await database.db.select().from(alertSuppressions);
    expect(left.map(({ subject }) => subject).sort()).toEqual(["key_2", "wf_1"]);
    expect(await kinds()).toEqual([]);
  });
});
