import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createApiKey, newApiKeyText } from "../../../src/access/keys/create-api-key.ts";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { alertSuppressions, outboxEvents } from "../../../src/db/tables/outbox.ts";
import { users } from "../../../src/db/tables/users.ts";
import { createLog } from "../../../src/lib/log.ts";
import {
  type BudgetAlerts,
  openBudgetAlerts,
} from "../../../src/operations/alerts/budget-alerts.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { hashApiKey } from "../../support/stages/access/test-keys.ts";

const WAIT = { timeout: 20_000, interval: 10 };
/** So long nothing comes where nothing is to come. */
const QUIET_MS = 300;
const LIMIT = 10_000;
const OWNER = "usr_1";
const HOUR_MS = 3_600_000;
const NOON = Date.UTC(2026, 7, 14, 12);

let database: Database;
let keyId: string;
let now: number;
let lines: string[];
let wakes: number;
const log = createLog("info", { write: (line: string) => void lines.push(line) });
const open: BudgetAlerts[] = [];

beforeAll(async () => {
  database = await openTestDatabase();
});

beforeEach(async () => {
  await database.db.execute(
    sql`truncate users, deleted_api_keys, outbox_events, alert_suppressions cascade`,
  );
  await database.db.insert(users).values({ id: OWNER, username: "admin", role: "admin" });
  keyId = await createKey("Ölkännchen");
  now = NOON;
  lines = [];
  wakes = 0;
});

afterEach(async () => {
  for (const alerts of open.splice(0)) await alerts.close();
});

afterAll(() => database.close());

async function createKey(name: string): Promise<string> {
  const text = newApiKeyText();
  const row = await withTransaction(database.db, (transaction) =>
    createApiKey(transaction, { name, ownerId: OWNER, text }, hashApiKey),
  );
  if (row === undefined) throw new Error("the key is there already");
  return row.id;
}

function wake(): void {
  wakes += 1;
}

/** One replica's alerts. */
function replica({ hasWebhook = true } = {}): BudgetAlerts {
  const alerts = openBudgetAlerts({
    db: database.db,
    clock: { now: () => now },
    log,
    webhook: hasWebhook ? { wake } : undefined,
  });
  open.push(alerts);
  return alerts;
}

const storedEvents = () => database.db.select().from(outboxEvents);

/** The types of the alerts stored so far, once there are so many and no more. */
async function alertsOnceThere(count: number): Promise<readonly string[]> {
  await vi.waitFor(async () => expect(await storedEvents()).toHaveLength(count), WAIT);
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
  return (await storedEvents()).map(({ kind }) => kind).sort();
}

const BOTH = ["key_budget_exceeded", "key_budget_warning"];

describe("a budget alert", () => {
  test("warns at 80% of the monthly limit and not before", async () => {
    const alerts = replica();
    alerts.onMonthUse(keyId, 7_999, LIMIT);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect(await storedEvents()).toEqual([]);
    alerts.onMonthUse(keyId, 8_000, LIMIT);
    expect(await alertsOnceThere(1)).toEqual(["key_budget_warning"]);
    alerts.onMonthUse(keyId, 9_999, LIMIT);
    expect(await alertsOnceThere(1)).toEqual(["key_budget_warning"]);
    alerts.onMonthUse(keyId, 10_000, LIMIT);
    expect(await alertsOnceThere(2)).toEqual(BOTH);
  });

  test("tells which key, whose it is, its limit and its use", async () => {
    replica().onMonthUse(keyId, 8_123, LIMIT);
    await alertsOnceThere(1);
    const [event] = await storedEvents();
    expect(event).toMatchObject({ sink: "alert_webhook", kind: "key_budget_warning", attempts: 0 });
    expect(event?.body).toEqual({
      text: 'API key "Ölkännchen" has used 81% of its monthly token limit (8,123 of 10,000 tokens in 2026-08).',
      type: "key_budget_warning",
      details: {
        key_id: keyId,
        key_name: "Ölkännchen",
        owner_id: OWNER,
        monthly_token_limit: LIMIT,
        used_tokens: 8_123,
        percent: 81,
        month: "2026-08",
        at: new Date(now).toISOString(),
      },
    });
    expect(wakes).toBe(1);
    expect(lines.filter((line) => line.includes('"level":"warn"'))).toHaveLength(1);
    expect(lines.join("")).toContain(keyId);
  });

  test("says exceeded at a refusal, though a little is left", async () => {
    replica().onMonthlyRefusal(keyId, 9_800, LIMIT);
    expect(await alertsOnceThere(2)).toEqual(BOTH);
    const exceeded = (await storedEvents()).find(({ kind }) => kind === "key_budget_exceeded");
    expect(exceeded?.body["text"]).toContain("too little left");
    expect(exceeded?.body["details"]).toMatchObject({ percent: 98, used_tokens: 9_800 });
  });

  test("of a key whose limit is 0 says exceeded alone", async () => {
    replica().onMonthlyRefusal(keyId, 0, 0);
    expect(await alertsOnceThere(1)).toEqual(["key_budget_exceeded"]);
    const [event] = await storedEvents();
    expect(event?.body["details"]).toMatchObject({ percent: 100 });
    expect(event?.body["text"]).toContain("limit of 0; its calls are refused until it is raised (");
  });

  test("without a webhook is a line in the log alone", async () => {
    replica({ hasWebhook: false }).onMonthUse(keyId, 10_000, LIMIT);
    await vi.waitFor(() => expect(lines).toHaveLength(2), WAIT);
    expect(lines.map((line) => JSON.parse(line).type).sort()).toEqual(BOTH);
    expect(await storedEvents()).toEqual([]);
    expect(await database.db.select().from(alertSuppressions)).toHaveLength(2);
  });

  test("of a key that is gone is none", async () => {
    replica().onMonthUse("key_gone", 10_000, LIMIT);
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    expect(await storedEvents()).toEqual([]);
    expect(lines).toEqual([]);
  });
});

describe("once a UTC day and key", () => {
  test("each alert is sent by one of three replicas that see 100 settles at once", async () => {
    const others = await Promise.all(["two", "three"].map(createKey));
    const replicas = [replica(), replica(), replica()];
    for (let settle = 0; settle < 100; settle += 1) {
      for (const id of [keyId, ...others]) {
        for (const alerts of replicas) alerts.onMonthUse(id, 10_000 + settle, LIMIT);
        replicas[settle % 3]?.onMonthlyRefusal(id, 10_000 + settle, LIMIT);
      }
    }
    const types = await alertsOnceThere(6);
    expect(types).toEqual([...BOTH, ...BOTH, ...BOTH].sort());
    const keys = (await storedEvents()).map(({ kind, body }) => {
      return `${kind} ${(body["details"] as { key_id: string }).key_id}`;
    });
    expect(new Set(keys).size).toBe(6);
    expect(lines.filter((line) => line.includes('"level":"warn"'))).toHaveLength(6);
  });

  test("it is sent again on the next day, and on no later hour of the same one", async () => {
    const alerts = replica();
    alerts.onMonthUse(keyId, 8_500, LIMIT);
    await alertsOnceThere(1);
    now = Date.UTC(2026, 7, 14, 23, 59, 59, 999);
    alerts.onMonthUse(keyId, 8_600, LIMIT);
    expect(await alertsOnceThere(1)).toHaveLength(1);
    now += 1;
    alerts.onMonthUse(keyId, 8_700, LIMIT);
    expect(await alertsOnceThere(2)).toEqual(["key_budget_warning", "key_budget_warning"]);
    expect(await database.db.select().from(alertSuppressions)).toMatchObject([{ count: 2 }]);
  });

  test("it is sent again once a clock that was a year ahead is set right", async () => {
    now = Date.UTC(2027, 7, 14, 12);
    replica().onMonthUse(keyId, 8_500, LIMIT);
    await alertsOnceThere(1);
    now = NOON;
    replica().onMonthUse(keyId, 8_600, LIMIT);
    expect(await alertsOnceThere(2)).toEqual(["key_budget_warning", "key_budget_warning"]);
    replica().onMonthUse(keyId, 8_700, LIMIT);
    expect(await alertsOnceThere(2)).toHaveLength(2);
  });

  test("it is not sent again after a restart", async () => {
    replica().onMonthUse(keyId, 8_500, LIMIT);
    await alertsOnceThere(1);
    now += HOUR_MS;
    replica().onMonthUse(keyId, 8_600, LIMIT);
    expect(await alertsOnceThere(1)).toHaveLength(1);
  });

  test("it is not sent again when the limit was raised and is neared once more", async () => {
    const alerts = replica();
    alerts.onMonthUse(keyId, 8_500, LIMIT);
    await alertsOnceThere(1);
    alerts.onMonthUse(keyId, 8_600, 2 * LIMIT);
    alerts.onMonthUse(keyId, 17_000, 2 * LIMIT);
    expect(await alertsOnceThere(1)).toHaveLength(1);
    alerts.onMonthUse(keyId, 20_000, 2 * LIMIT);
    expect(await alertsOnceThere(2)).toEqual(BOTH);
  });
});

describe("an alert and its suppression", () => {
  test("come into the database together or not at all", async () => {
    await database.db.execute(
      sql`alter table outbox_events add constraint refuse_all check (false) not valid`,
    );
    replica().onMonthUse(keyId, 8_500, LIMIT);
    await vi.waitFor(() => expect(lines.join("")).toContain("could not be sent"), WAIT);
    expect(await database.db.select().from(alertSuppressions)).toEqual([]);
    await database.db.execute(sql`alter table outbox_events drop constraint refuse_all`);
    replica().onMonthUse(keyId, 8_600, LIMIT);
    expect(await alertsOnceThere(1)).toEqual(["key_budget_warning"]);
  });

  test.each([
    ["a database that is read-only for a while", "25006"],
    ["a lock that is not to be had", "55P03"],
    ["a deadlock", "40P01"],
  ])("wait for %s, and come without another call", async (_, code) => {
    await database.db.execute(sql`
      create function refuse() returns trigger language plpgsql as
        ${sql.raw(`'begin raise exception ''not now'' using errcode = ''${code}''; end'`)}`);
    await database.db.execute(
      sql`create trigger refuse before insert on outbox_events execute function refuse()`,
    );
    replica().onMonthUse(keyId, 8_500, LIMIT);
    await vi.waitFor(
      () => expect(lines.join("")).toContain("are delayed until the database"),
      WAIT,
    );
    expect(await database.db.select().from(alertSuppressions)).toEqual([]);
    await database.db.execute(sql`drop trigger refuse on outbox_events`);
    await database.db.execute(sql`drop function refuse()`);
    expect(await alertsOnceThere(1)).toEqual(["key_budget_warning"]);
  });
});
