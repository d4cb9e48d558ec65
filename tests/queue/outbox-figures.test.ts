import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Database } from "../../src/db/database.ts";
import { outboxEvents } from "../../src/db/tables/outbox.ts";
import { outboxFigures } from "../../src/queue/figures.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const NOW = Date.parse("2027-03-01T12:00:00Z");
const at = (agoSeconds: number) => new Date(NOW - agoSeconds * 1_000);

describe("the figures of the outbox", () => {
  let database: Database;
  let count = 0;
  const store = (sink: string, row: Partial<typeof outboxEvents.$inferInsert>) => {
    count += 1;
    return database.db
      .insert(outboxEvents)
      .values({ id: `evt_${count}`, sink, kind: "a.kind", body: {}, ...row });
  };

  beforeAll(async () => {
    database = await openTestDatabase();
  });
  beforeEach(() => database.db.delete(outboxEvents));
  afterAll(() => database.close());

  test("are all 0 when it is empty", async () => {
    expect(await outboxFigures(database.db, NOW)).toEqual({
      pending: 0,
      oldestAgeSeconds: 0,
      dead: 0,
    });
  });

  test("count what is pending and dead in every sink, and tell the age of the oldest pending one", async () => {
    await store("alert_webhook", { createdAt: at(90), nextAttemptAt: at(-3_600) });
    await store("internal", { createdAt: at(120.5), leaseUntil: at(-10) });
    await store("internal", { createdAt: at(5_000), deliveredAt: at(4_999) });
    await store("internal", { createdAt: at(9_000), deadAt: at(10) });
    await store("alert_webhook", { createdAt: at(9_000), deadAt: at(20) });
    await store("alert_webhook", { createdAt: at(9_000), deadAt: at(30) });
    // One that was given up and had arrived all the same.
    await store("alert_webhook", { createdAt: at(9_000), deadAt: at(30), deliveredAt: at(29) });
    expect(await outboxFigures(database.db, NOW)).toEqual({
      pending: 2,
      oldestAgeSeconds: 120.5,
      dead: 3,
    });
  });

  test("tell no age below 0 when the clock went back", async () => {
    await store("internal", { createdAt: at(-60) });
    expect(await outboxFigures(database.db, NOW)).toMatchObject({
      pending: 1,
      oldestAgeSeconds: 0,
    });
  });
});
