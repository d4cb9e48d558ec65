import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createLog } from "../../../src/lib/log.ts";
import { giveUpJobs } from "../../../src/queue/end-jobs.ts";
import { openAlertWebhook } from "../../../src/queue/webhooks/open-alert-webhook.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";

const WAIT = { timeout: 20_000, interval: 10 };
const MINUTE_MS = 60_000;
const NOON = Date.UTC(2026, 7, 14, 12);

let database: Database;
let lines: { level: string; msg: string }[];
const clock = { now: () => NOON };
const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events`);
  lines = [];
});
afterAll(() => database.close());

const event = (id: string, more: object = {}) => ({
  id,
  sink: "alert_webhook",
  kind: "key_budget_warning",
  body: {},
  createdAt: new Date(NOON - MINUTE_MS),
  nextAttemptAt: new Date(NOON - MINUTE_MS),
  ...more,
});
const store = (...events: ReturnType<typeof event>[]) =>
  database.db.insert(outboxEvents).values(events);
/** A start without an address. */
const openUnposted = (redisUrl?: string) =>
  openAlertWebhook({
    settings: {
      ALERT_WEBHOOK_URL: undefined,
      ALERT_WEBHOOK_SECRET: undefined,
      OUTBOX_BACKOFF_SCALE: 1,
      OUTBOX_TRY_TIMEOUT_MS: 15_000,
      REDIS_URL: redisUrl,
    },
    db: database.db,
    clock,
    log,
  });
const dead = async () => {
  const events = await database.db.select().from(outboxEvents);
  return events
    .filter(({ deadAt }) => deadAt !== null)
    .map(({ id }) => id)
    .sort();
};

describe("alerts that an earlier configuration has left", () => {
  test("are given up at a start without ALERT_WEBHOOK_URL, with a reason that says what to do", async () => {
    const soon = new Date(NOON + 20 * 60 * MINUTE_MS);
    await store(
      event("due"),
      event("later", { nextAttemptAt: soon, attempts: 9, lastError: "answered 500" }),
      event("delivered", { deliveredAt: new Date(NOON) }),
      event("internal", { sink: "internal" }),
    );
    // Its lease is another replica's, by the database's own time.
    await database.db.execute(sql`
      insert into outbox_events (id, sink, kind, body, lease_until)
      values ('tried', 'alert_webhook', 'x', '{}', now() + interval '20 seconds')`);
    const webhook = openUnposted();
    expect(webhook.delivery).toBeUndefined();
    await vi.waitFor(async () => expect(await dead()).toEqual(["due", "later"]), WAIT);
    const given = (await database.db.select().from(outboxEvents)).find(({ id }) => id === "later");
    expect(given).toMatchObject({ deadAt: new Date(NOON), attempts: 9, leaseUntil: null });
    expect(given?.lastError).toMatch(/^ALERT_WEBHOOK_URL is not set: set it/);
    await vi.waitFor(() => expect(lines).toHaveLength(1), WAIT);
    expect(lines[0]).toMatchObject({ level: "warn", events: 2 });
    await webhook.close();
  });

  test("are left at the start of one replica of several, but for those that none posts", async () => {
    await store(
      event("just-due"),
      event("later", { nextAttemptAt: new Date(NOON + MINUTE_MS), attempts: 3 }),
      event("overdue", { nextAttemptAt: new Date(NOON - 10 * MINUTE_MS - 1) }),
    );
    const webhook = openUnposted("redis://127.0.0.1:1");
    await vi.waitFor(() => expect(lines).toMatchObject([{ level: "warn", events: 1 }]), WAIT);
    expect(await dead()).toEqual(["overdue"]);
    await webhook.close();
  });

  test("are left where another replica may still be posting them", async () => {
    await store(
      event("just-due"),
      event("overdue", { nextAttemptAt: new Date(NOON - 10 * MINUTE_MS - 1) }),
    );
    const given = { topic: "alert_webhook", reason: "nobody posts it", now: NOON } as const;
    const dueBefore = NOON - 10 * MINUTE_MS;
    expect(await giveUpJobs(database.db, { ...given, dueBefore })).toBe(1);
    expect(await dead()).toEqual(["overdue"]);
    expect(await giveUpJobs(database.db, { ...given, dueBefore })).toBe(0);
  });
});
