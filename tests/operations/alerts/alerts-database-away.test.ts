import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createApiKey, newApiKeyText } from "../../../src/access/keys/create-api-key.ts";
import { engineDownAlert } from "../../../src/backends/engine-down.ts";
import { loadConfig } from "../../../src/config/load-config.ts";
import type { AlertRule } from "../../../src/core/part.ts";
import type { Base } from "../../../src/db/base.ts";
import { connect } from "../../../src/db/connect.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { users } from "../../../src/db/tables/users.ts";
import { createLog } from "../../../src/lib/log.ts";
import { systemClock } from "../../../src/lib/time/clock.ts";
import { type Alerts, openAlerts } from "../../../src/operations/alerts/open-alerts.ts";
import { outboxBacklogAlert } from "../../../src/queue/outbox-backlog.ts";
import { openAlertWebhook } from "../../../src/queue/webhooks/open-alert-webhook.ts";
import { openSeverableDatabase } from "../../support/servers/databases/severable-database.ts";
import { answer, startWebhookReceiver } from "../../support/servers/webhook-receiver.ts";
import { hashApiKey } from "../../support/stages/access/test-keys.ts";

const WAIT = { timeout: 30_000, interval: 20 };
const OWNER = "usr_1";

const severable = await openSeverableDatabase();
afterAll(() => severable?.remove());

const connectTo = (url: string): Database =>
  connect({ kind: "postgres", url, waitMs: 2_000, driver: { max: 2, connect_timeout: 2 } });

/** The alerts of a server with these rules, posted to the receiver. */
function openPosted(
  given: Pick<Base, "database" | "log"> & { readonly url: string },
  alerts: readonly AlertRule[] = [],
): Pick<Alerts, "monthlyUse" | "check" | "close"> {
  const { database, log, url } = given;
  const { settings } = loadConfig({ ALERT_WEBHOOK_URL: url, OUTBOX_BACKOFF_SCALE: "0.01" });
  const base = { settings, database, clock: systemClock, log };
  const webhook = openAlertWebhook({ ...base, db: database.db });
  const { monthlyUse, check, close } = openAlerts(base, {
    parts: [{ alerts }],
    webhook: webhook.delivery,
  });
  return {
    monthlyUse,
    check,
    async close() {
      await Promise.all([close(), webhook.close()]);
    },
  };
}

async function createKey(database: Database): Promise<string> {
  await database.db.insert(users).values({ id: OWNER, username: "admin", role: "admin" });
  const text = newApiKeyText();
  const row = await withTransaction(database.db, (transaction) =>
    createApiKey(transaction, { name: "one", ownerId: OWNER, text }, hashApiKey),
  );
  if (row === undefined) throw new Error("the key is there already");
  return row.id;
}

describe.runIf(severable !== undefined)("while the database is away", () => {
  test("an alert waits and is sent once it is back, and what was delivered is written down", async () => {
    if (severable === undefined) return;
    const { connection, url, directUrl } = severable;
    const direct = connectTo(directUrl);
    await migrate(direct);
    const keyId = await createKey(direct);
    const database = connectTo(url);
    const receiver = await startWebhookReceiver();
    const lines: string[] = [];
    const log = createLog("info", { write: (line: string) => void lines.push(line) });
    const alerts = openPosted({ database, log, url: receiver.url });

    await connection.down();
    alerts.monthlyUse.onMonthUse(keyId, 85, 100);
    const waiting = () =>
      lines.filter(
        (line) =>
          line.includes("wait for the database") || line.includes("are delayed until the database"),
      );
    await vi.waitFor(() => expect(waiting()).toHaveLength(2), WAIT);
    const cpu = process.cpuUsage();
    await sleep(2_000);
    const { user, system } = process.cpuUsage(cpu);
    // It waits, it does not spin.
    expect((user + system) / 1_000).toBeLessThan(1_000);
    expect(waiting()).toHaveLength(2);
    expect(receiver.posts()).toHaveLength(0);

    await connection.up();
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(1), WAIT);
    const delivered = async () => (await direct.db.select().from(outboxEvents))[0]?.deliveredAt;
    await vi.waitFor(async () => expect(await delivered()).not.toBeNull(), WAIT);

    // The database goes while the receiver has the event: it is not posted again for that.
    receiver.use((post) => void connection.down().then(() => answer(204)(post)));
    alerts.monthlyUse.onMonthUse(keyId, 100, 100);
    await vi.waitFor(() => expect(receiver.posts()).toHaveLength(2), WAIT);
    await sleep(1_500);
    await connection.up();
    await vi.waitFor(async () => {
      const events = await direct.db.select().from(outboxEvents);
      expect(events.map(({ deliveredAt }) => deliveredAt === null)).toEqual([false, false]);
    }, WAIT);
    expect(receiver.posts().map(({ json }) => json.type)).toEqual([
      "key_budget_warning",
      "key_budget_exceeded",
    ]);

    await alerts.close();
    await receiver.stop();
    await database.close();
    await direct.close();
  }, 120_000);

  test("what needs no database is in the log once, and sent at the first look afterwards", async () => {
    if (severable === undefined) return;
    const { connection, url, directUrl } = severable;
    const direct = connectTo(directUrl);
    await migrate(direct);
    const database = connectTo(url);
    const receiver = await startWebhookReceiver();
    const lines: { level: string; msg: string }[] = [];
    const log = createLog("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    const found = ["one", "two", "three"].map((subject) => ({
      subject,
      text: `The server ${subject} does not work.`,
      details: {},
    }));
    const engine = { isReachable: async () => false };
    const alerts = openPosted({ database, log, url: receiver.url }, [
      engineDownAlert(engine, { LLM_BACKEND: "vllm" }),
      { type: "server_error", window: 3_600_000, find: async () => found },
      outboxBacklogAlert(database.db, { ALERT_EVENT_OUTBOX_AGE_SEC: 600 }),
    ]);
    const said = (part: string) => lines.filter(({ msg }) => msg.includes(part));

    await connection.down();
    await alerts.check();
    await alerts.check();
    const waiting = said("an alert is delayed until the database");
    expect(waiting.map(({ level }) => level)).toEqual(["warn", "warn", "warn", "warn"]);
    expect(said("does not answer")).toHaveLength(1);
    expect(said("cannot be checked now")).toMatchObject([{ types: ["event_outbox_backlog"] }]);

    await connection.up();
    await vi.waitFor(async () => {
      await alerts.check();
      expect(receiver.posts()).toHaveLength(4);
    }, WAIT);
    const types = receiver.posts().map(({ json }) => json.type);
    expect(types.sort()).toEqual(["llm_backend_down", ...found.map(() => "server_error")]);
    expect(said("can be checked again")).toHaveLength(1);
    expect(said("an alert is delayed until the database")).toHaveLength(4);

    await alerts.close();
    await receiver.stop();
    await database.close();
    await direct.close();
  }, 120_000);
});
