import { eq, sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { createLog } from "../../../src/lib/log.ts";
import { claimJobs } from "../../../src/queue/claims.ts";
import { pruneEvents } from "../../../src/queue/end-jobs.ts";
import { enqueue as enqueueJob } from "../../../src/queue/enqueue.ts";
import { openAlertWebhook } from "../../../src/queue/webhooks/open-alert-webhook.ts";
import type { TopicWorker } from "../../../src/queue/work-topic.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  answer,
  signatureOf,
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";

const SECRET = "a secret of the receiver's";
const DAY_MS = 86_400_000;
/** Far more than anything here takes but for the receiver that hangs. */
const WAIT = { timeout: 60_000, interval: 10 };
/** For a receiver that hangs; shorter than any pause of this file, longer than a good answer takes. */
const SHORT_MS = 5_000;

let database: Database;
let receiver: WebhookReceiver;
let lines: string[] = [];
const log = createLog("info", { write: (line: string) => void lines.push(line) });
const open: TopicWorker[] = [];
/** What the clock shows beyond the system's time. */
let aheadMs = 0;
const clock = { now: () => Date.now() + aheadMs };

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await database.db.execute(sql`truncate outbox_events`);
  receiver = await startWebhookReceiver();
  aheadMs = 0;
  lines = [];
});

afterEach(async () => {
  for (const delivery of open.splice(0)) await delivery.close();
  await receiver.stop();
});

afterAll(() => database.close());

interface Given {
  readonly url?: string;
  readonly secret?: string;
  readonly scale?: number;
  readonly tryTimeoutMs?: number;
}

/** One replica's delivery. */
function deliver({
  url = receiver.url,
  secret,
  scale = 0.001,
  tryTimeoutMs = 15_000,
}: Given = {}): TopicWorker {
  const { delivery, close } = openAlertWebhook({
    settings: {
      ALERT_WEBHOOK_URL: url,
      ALERT_WEBHOOK_SECRET: secret,
      OUTBOX_BACKOFF_SCALE: scale,
      OUTBOX_TRY_TIMEOUT_MS: tryTimeoutMs,
    },
    db: database.db,
    clock,
    log,
  });
  if (delivery === undefined) throw new Error("no delivery");
  const replica = { wake: delivery.wake, close };
  open.push(replica);
  return replica;
}

async function enqueue(text = "Something happened."): Promise<void> {
  const event = {
    topic: "alert_webhook",
    kind: "key_budget_warning",
    body: { text, type: "key_budget_warning", details: { percent: 81, name: "Ölkännchen" } },
  } as const;
  await withTransaction(database.db, (transaction) => enqueueJob(transaction, event, clock.now()));
}

const storedEvents = () => database.db.select().from(outboxEvents);

async function storedEvent() {
  const [event] = await storedEvents();
  if (event === undefined) throw new Error("no event");
  return event;
}

async function untilDelivered(count = 1): Promise<void> {
  await vi.waitFor(async () => {
    const delivered = (await storedEvents()).filter(({ deliveredAt }) => deliveredAt !== null);
    expect(delivered).toHaveLength(count);
  }, WAIT);
}

async function untilDead() {
  await vi.waitFor(async () => expect((await storedEvent()).deadAt).not.toBeNull(), WAIT);
  return storedEvent();
}

describe("a delivered event", () => {
  test("is posted once, its body with text, type and details alone", async () => {
    await enqueue();
    deliver();
    await untilDelivered();
    const [post] = receiver.posts();
    expect(receiver.posts()).toHaveLength(1);
    expect(post?.path).toBe("/hook");
    expect(Object.keys(post?.json ?? {})).toEqual(["text", "type", "details"]);
    expect(post?.json.details).toEqual({ percent: 81, name: "Ölkännchen" });
    expect(post?.header("content-type")).toBe("application/json");
    expect(post?.id).toBe((await storedEvent()).id);
    expect(Math.abs(Number(post?.header("webhook-timestamp")) - clock.now() / 1_000)).toBeLessThan(
      60,
    );
    expect(post?.header("webhook-signature")).toBeUndefined();
  });

  test.each([
    ["a text", SECRET, Buffer.from(SECRET)],
    ["a Standard Webhooks secret", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", undefined],
  ])("is signed with %s over id, time and body", async (_, secret, given) => {
    const key = given ?? Buffer.from(secret.slice("whsec_".length), "base64");
    await enqueue();
    deliver({ secret });
    await untilDelivered();
    const [post] = receiver.posts();
    if (post === undefined) throw new Error("no post");
    expect(post.header("webhook-signature")).toBe(signatureOf(post, key));
  });

  test("goes out at once when its process is told of it", async () => {
    const delivery = deliver();
    await new Promise((resolve) => setTimeout(resolve, 200));
    await enqueue();
    delivery.wake();
    await untilDelivered();
    expect(receiver.posts()).toHaveLength(1);
  });

  for (const [written, password] of [
    ["p%40ss", "p@ss"],
    ["100%safe", "100%safe"],
  ] as const) {
    test(`takes the credentials of the address as a header, with the password ${written}`, async () => {
      await enqueue();
      deliver({ url: receiver.url.replace("//", `//hook:${written}@`) });
      await untilDelivered();
      const [post] = receiver.posts();
      expect(post?.header("authorization")).toBe(
        `Basic ${Buffer.from(`hook:${password}`).toString("base64")}`,
      );
    });
  }

  test("is one of many, each posted exactly once by three replicas", async () => {
    const texts = Array.from({ length: 100 }, (_, index) => `event ${index}`);
    for (const text of texts) await enqueue(text);
    for (let replica = 0; replica < 3; replica += 1) deliver();
    await untilDelivered(texts.length);
    expect(receiver.posts().map(({ json }) => json.text)).toHaveLength(texts.length);
    expect(new Set(receiver.posts().map(({ json }) => json.text))).toEqual(new Set(texts));
  });
});

describe("an event whose receiver fails", () => {
  test.each([
    ["an error", answer(500), "answered 500"],
    [
      "a redirect",
      answer(301, ["location: /elsewhere"]),
      "answered 301: redirects are not followed",
    ],
    ["garbage", ({ socket }) => void socket.end("\u0000what?\r\n\r\n"), "the connection failed"],
    ["a reset", ({ socket }) => void socket.resetAndDestroy(), "the connection failed"],
    ["an early end", ({ socket }) => void socket.end(), "the connection failed"],
  ] satisfies [string, Parameters<WebhookReceiver["use"]>[0], string][])(
    "with %s gets it again with the same id",
    async (_, fail, reason) => {
      receiver.use(fail);
      await enqueue();
      deliver({ scale: 0.1 });
      await vi.waitFor(async () => {
        expect((await storedEvent()).lastError).toContain(reason);
      }, WAIT);
      receiver.use(answer(200, [], "thank you"));
      await untilDelivered();
      const posts = receiver.posts();
      expect(posts.length).toBeGreaterThanOrEqual(2);
      expect(new Set(posts.map(({ id }) => id)).size).toBe(1);
      expect(new Set(posts.map(({ body }) => body)).size).toBe(1);
      expect(new Set(posts.map(({ path }) => path))).toEqual(new Set(["/hook"]));
      expect(await storedEvent()).toMatchObject({ attempts: posts.length, lastError: null });
    },
  );

  test("is asked no sooner than Retry-After says", async () => {
    let refusals = 0;
    receiver.use((post) => {
      refusals += 1;
      answer(refusals === 1 ? 429 : 204, refusals === 1 ? ["retry-after: 2"] : [])(post);
    });
    await enqueue();
    deliver({ scale: 0.0001 });
    await untilDelivered();
    const [first, second] = receiver.posts();
    expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).toBeGreaterThanOrEqual(1_990);
  });

  test("with 410 gets it never again", async () => {
    receiver.use(answer(410));
    await enqueue();
    deliver();
    const event = await untilDead();
    expect(event).toMatchObject({ attempts: 1, deliveredAt: null });
    expect(event.lastError).toContain("410");
    expect(receiver.posts()).toHaveLength(1);
  });

  test("is given up after ten tries, and the log says so once, without the address", async () => {
    receiver.use(answer(503, [], "the receiver's own words"));
    await enqueue();
    deliver({ scale: 0.000_01, url: receiver.url.replace("//", "//hook:hidden@") });
    const event = await untilDead();
    expect(event).toMatchObject({ attempts: 10, lastError: "answered 503", leaseUntil: null });
    expect(receiver.posts()).toHaveLength(10);
    expect(lines.filter((line) => line.includes("given up"))).toHaveLength(1);
    expect(lines.join("")).not.toMatch(/hidden|127\.0\.0\.1|own words/);
  });

  test("by hanging holds up no other and counts as failed in time", async () => {
    receiver.use((post) => {
      if (post.json.text !== "hang") answer(204)(post);
    });
    await enqueue("hang");
    const delivery = deliver({ scale: 1, tryTimeoutMs: SHORT_MS });
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
    await enqueue("go on");
    delivery.wake();
    await untilDelivered();
    await vi.waitFor(async () => {
      const [hung] = await database.db
        .select()
        .from(outboxEvents)
        .where(sql`body->>'text' = 'hang'`);
      expect(hung?.lastError).toBe("no answer within 5 s");
    }, WAIT);
    expect(receiver.mostAtOnce(receiver.posts()[0]?.id ?? "")).toBe(1);
  }, 120_000);

  test("by refusing connections gets it when it listens again", async () => {
    await receiver.stop();
    await enqueue();
    deliver({ scale: 0.05 });
    await vi.waitFor(async () => {
      expect((await storedEvent()).lastError).toContain("the connection failed");
    }, WAIT);
    const listening = await startWebhookReceiver();
    const moved = deliver({ url: listening.url, scale: 0.05 });
    await open[0]?.close();
    moved.wake();
    await untilDelivered();
    expect(listening.posts()).toHaveLength(1);
    await listening.stop();
  });
});

describe("an event under lease", () => {
  test("is claimed by one alone", async () => {
    for (let index = 0; index < 30; index += 1) await enqueue();
    const claim = () =>
      claimJobs(database.db, "alert_webhook", { limit: 20, now: clock.now(), leaseMs: 30_000 });
    const claimed = (await Promise.all([claim(), claim(), claim()])).flat();
    expect(claimed).toHaveLength(30);
    expect(new Set(claimed.map(({ id }) => id)).size).toBe(30);
    expect(await claim()).toEqual([]);
  });

  test("of a process that is gone comes back when the lease has run out", async () => {
    await enqueue();
    await claimJobs(database.db, "alert_webhook", {
      limit: 20,
      now: clock.now(),
      leaseMs: 30_000,
    });
    deliver();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(receiver.posts()).toHaveLength(0);
    await database.db.update(outboxEvents).set({ leaseUntil: sql`now() - interval '1 second'` });
    await untilDelivered();
    expect(await storedEvent()).toMatchObject({ attempts: 2 });
  });

  test("is given back by a server that stops while the receiver hangs", async () => {
    receiver.use(() => undefined);
    await enqueue();
    const stopping = deliver();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
    await stopping.close();
    expect(await storedEvent()).toMatchObject({ attempts: 0, leaseUntil: null, lastError: null });
    receiver.use(answer(200));
    deliver();
    await untilDelivered();
  });
});

describe("the schedule", () => {
  test("goes by the clock: an event due tomorrow is due when the clock says so", async () => {
    await enqueue();
    await database.db
      .update(outboxEvents)
      .set({ nextAttemptAt: new Date(clock.now() + DAY_MS - 60_000) });
    deliver();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(receiver.posts()).toHaveLength(0);
    aheadMs = DAY_MS;
    await untilDelivered();
  });

  test("keeps delivered events a day and dead ones thirty", async () => {
    const now = clock.now();
    await enqueue();
    const row = await storedEvent();
    const days = (count: number) => new Date(now - count * DAY_MS - 1_000);
    await database.db.insert(outboxEvents).values([
      { ...row, id: "delivered-lately", createdAt: days(1), deliveredAt: days(0) },
      { ...row, id: "delivered", createdAt: days(2), deliveredAt: days(1) },
      { ...row, id: "dead-lately", createdAt: days(32), deadAt: days(29) },
      { ...row, id: "dead", createdAt: days(33), deadAt: days(30) },
      { ...row, id: "pending", createdAt: days(100) },
    ]);
    await database.db.delete(outboxEvents).where(eq(outboxEvents.id, row.id));
    await pruneEvents(database.db, now);
    const left = (await storedEvents()).map(({ id }) => id).sort();
    expect(left).toEqual(["dead-lately", "delivered-lately", "pending"]);
  });

  test("deletes at one go what ten minutes of fast delivery leave", async () => {
    const now = clock.now();
    const old = sql`${new Date(now - 3 * DAY_MS).toISOString()}::timestamptz`;
    await database.db.execute(sql`
      insert into outbox_events (id, sink, kind, body, created_at, delivered_at)
      select 'old-' || number, 'internal', 'x', '{}', ${old}, ${old} from generate_series(1, 30001) number`);
    await pruneEvents(database.db, now);
    expect(await storedEvents()).toEqual([]);
  });
});
