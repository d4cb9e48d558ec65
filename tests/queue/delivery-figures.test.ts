import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { createLog } from "../../src/lib/log.ts";
import { systemClock } from "../../src/lib/time/clock.ts";
import { createDeliveryFigures } from "../../src/queue/figures.ts";
import type { JobOutcome } from "../../src/queue/topic.ts";
import { type TopicWorker, workTopic } from "../../src/queue/work-topic.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const SOON = { timeout: 20_000, interval: 20 };
const NOTHING = { delivered: 0, failed: 0, given_up: 0 };

let database: Database;
let delivery: TopicWorker | undefined;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(async () => {
  await delivery?.close();
  await database.db.delete(outboxEvents);
});
afterAll(() => database.close());

/** Delivers one event, whose tries end like this; the last one is as good as all further ones. */
async function deliver(...outcomes: readonly JobOutcome[]) {
  await database.db
    .insert(outboxEvents)
    .values({ id: "evt_1", sink: "alert_webhook", kind: "a.kind", body: {} });
  const deliveries = createDeliveryFigures();
  let tries = 0;
  const parts = { db: database.db, clock: systemClock, log: createLog("fatal") };
  delivery = workTopic(parts, {
    name: "alert_webhook",
    work: async () => outcomes[Math.min(tries++, outcomes.length - 1)] ?? { kind: "released" },
    pausesMs: [10, 10],
    counts: deliveries.alert_webhook,
  });
  return deliveries;
}

const failed: JobOutcome = { kind: "failed", error: "503" };

describe("tries to deliver an event count", () => {
  it("each as failed that is followed by another, and the one that succeeds", async () => {
    const { alert_webhook, internal } = await deliver(failed, failed, { kind: "done" });
    await expect.poll(() => alert_webhook, SOON).toEqual({ delivered: 1, failed: 2, given_up: 0 });
    expect(internal).toEqual(NOTHING);
  });

  it("the last one as given up", async () => {
    const { alert_webhook } = await deliver(failed);
    await expect.poll(() => alert_webhook, SOON).toEqual({ delivered: 0, failed: 2, given_up: 1 });
  });

  it("one that is refused as given up at once", async () => {
    const { alert_webhook } = await deliver({ kind: "refused", error: "410" });
    await expect.poll(() => alert_webhook, SOON).toEqual({ ...NOTHING, given_up: 1 });
  });
});
