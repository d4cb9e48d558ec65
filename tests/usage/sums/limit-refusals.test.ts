import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "drizzle-orm";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { insertUsage } from "../../../src/usage/journal/usage-store.ts";
import { type LimitRefusal, openLimitRefusals } from "../../../src/usage/sums/limit-refusals.ts";
import { issueKey } from "../../support/clients/issue-key.ts";
import { openSeverableDatabase } from "../../support/servers/databases/severable-database.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator } from "../../support/servers/start-simulator.ts";
import { withStore } from "../../support/stages/usage/stored-usage.ts";
import {
  connectTo,
  eventually,
  silentLog,
  usageRecord,
} from "../../support/stages/usage/usage-journal.ts";

const AT = Date.parse("2026-09-21T13:09:59.999Z");
const HOUR_MS = 3_600_000;

let database: Database;

beforeAll(async () => {
  database = await openTestDatabase();
});
afterEach(() =>
  database.db.execute(sql`
    truncate usage_records, usage_hours, model_hours, usage_days, usage_months, usage_slots, latency_hours, limit_refusals, journal_checkpoints`),
);
afterAll(() => database.close());

const open = (db: Db = database.db) => openLimitRefusals({ db, log: silentLog });

function refusal(change: Partial<LimitRefusal> = {}): LimitRefusal {
  return { keyId: "key_1", channel: "chat", code: "rate_limit_exceeded", at: AT, ...change };
}

/** `hour key channel code refusals` of all. */
async function stored({ db }: Pick<Database, "db"> = database): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(sql`
    select concat_ws(' ', to_char(hour at time zone 'UTC', 'DD HH24:MI'), key_id, channel, code, refusals) as line
    from limit_refusals order by 1`);
  return rows.map(({ line }) => line);
}

/** `slot channel requests errors limited input output` of all. */
async function slots({ db }: Pick<Database, "db"> = database): Promise<string[]> {
  const rows = await db.execute<{ line: string }>(sql`
    select concat_ws(' ', to_char(slot at time zone 'UTC', 'DD HH24:MI'), channel, requests, errors, rate_limited,
      input_tokens, output_tokens) as line
    from usage_slots order by 1`);
  return rows.map(({ line }) => line);
}

describe("refusals of a key's limits", () => {
  it("are counted by hour, key, channel and code, and by ten minutes and channel", async () => {
    const refusals = open();
    refusals.count(refusal());
    refusals.count(refusal({ at: AT + 1 }));
    refusals.count(refusal({ at: AT + 2, code: "monthly_limit_exceeded" }));
    refusals.count(refusal({ at: AT + 2, keyId: "key_2", channel: "audio" }));
    refusals.count(refusal({ at: AT + HOUR_MS }));
    expect(await stored()).toEqual([]);
    await refusals.flush();
    await refusals.flush();
    expect(await stored()).toEqual([
      "21 13:00 key_1 chat monthly_limit_exceeded 1",
      "21 13:00 key_1 chat rate_limit_exceeded 2",
      "21 13:00 key_2 audio rate_limit_exceeded 1",
      "21 14:00 key_1 chat rate_limit_exceeded 1",
    ]);
    expect(await slots()).toEqual([
      "21 13:00 chat 1 0 1 0 0",
      "21 13:10 audio 1 0 1 0 0",
      "21 13:10 chat 2 0 2 0 0",
      "21 14:00 chat 1 0 1 0 0",
    ]);
  });

  it("are added to what is there, of metered calls and of other replicas, without a deadlock", async () => {
    const replicas = Array.from({ length: 4 }, () => open());
    const works = replicas.flatMap((refusals, replica) =>
      Array.from({ length: 10 }, async (_, round) => {
        for (let key = 0; key < 50; key += 1) {
          refusals.count(refusal({ keyId: `key_${(key * (replica + 1)) % 50}` }));
          refusals.count(refusal({ at: AT + 1, channel: "messages" }));
        }
        const records = Array.from({ length: 20 }, (__, call) =>
          JSON.stringify(usageRecord(`${replica}-${round}-${call}`, { startedAt: AT })),
        );
        const checkpoint = { journal: `test-${replica}`, segment: round + 1, byteOffset: 1 };
        await Promise.all([refusals.flush(), insertUsage(database.db, records, checkpoint)]);
      }),
    );
    await Promise.all(works);
    for (const refusals of replicas) await refusals.close(10_000);
    expect(await slots()).toEqual([
      "21 13:00 chat 2800 0 2000 5600 8800",
      "21 13:10 messages 2000 0 2000 0 0",
    ]);
    const [sum] = await database.db.execute<{ refusals: number }>(
      sql`select sum(refusals)::int as refusals from limit_refusals`,
    );
    expect(sum?.refusals).toBe(4_000);
    const checkpoints = await database.db.execute(
      sql`select journal from journal_checkpoints where journal like 'refusals:%'`,
    );
    expect(checkpoints).toHaveLength(0);
  });

  it("are counted once when the answer to their write is lost, and given again", async () => {
    let losses = 2;
    const lossy = new Proxy(database.db, {
      get(target, name) {
        if (name !== "execute") return Reflect.get(target, name);
        return async (...given: Parameters<Db["execute"]>) => {
          const answer = await target.execute(...given);
          losses -= 1;
          if (losses >= 0) throw Object.assign(new Error("lost"), { code: "ECONNRESET" });
          return answer;
        };
      },
    });
    const refusals = open(lossy);
    refusals.count(refusal());
    await refusals.flush();
    refusals.count(refusal());
    await refusals.flush();
    await refusals.flush();
    await refusals.flush();
    expect(losses).toBeLessThan(0);
    expect(await stored()).toEqual(["21 13:00 key_1 chat rate_limit_exceeded 2"]);
    expect(await slots()).toEqual(["21 13:00 chat 2 0 2 0 0"]);
  });

  it("wait in bounded memory however many keys are tried, and all are counted", async () => {
    const refusals = open();
    for (let key = 0; key < 30_000; key += 1) refusals.count(refusal({ keyId: `key_${key}` }));
    await refusals.flush();
    const [rows] = await database.db.execute<{
      keys: number;
      refusals: number;
      others: number;
    }>(sql`
      select count(*)::int as keys, sum(refusals)::int as refusals,
        (sum(refusals) filter (where key_id = 'other'))::int as others from limit_refusals`);
    expect(rows).toEqual({ keys: 10_001, refusals: 30_000, others: 20_000 });
  });

  it("survive a database that is away, and are counted once it is back", async ({ skip }) => {
    const severable = await openSeverableDatabase();
    if (severable === undefined) return skip("PostgreSQL is not installed");
    const direct = connectTo(severable.directUrl);
    const cut = connectTo(severable.url);
    try {
      await migrate(direct);
      const refusals = open(cut.db);
      refusals.count(refusal());
      await refusals.flush();
      await severable.connection.down();
      refusals.count(refusal());
      await refusals.flush();
      refusals.count(refusal({ code: "token_limit_exceeded" }));
      await refusals.flush();
      expect(await stored(direct)).toEqual(["21 13:00 key_1 chat rate_limit_exceeded 1"]);
      await severable.connection.up();
      await eventually(async () => {
        await refusals.flush();
        return (await stored(direct)).length === 2;
      });
      expect(await stored(direct)).toEqual([
        "21 13:00 key_1 chat rate_limit_exceeded 2",
        "21 13:00 key_1 chat token_limit_exceeded 1",
      ]);
      expect(await slots(direct)).toEqual(["21 13:00 chat 3 0 3 0 0"]);
    } finally {
      await cut.close();
      await direct.close();
      await severable.remove();
    }
  });
});

describe("a gateway", () => {
  it("counts each refusal of each limit by the time it has stopped, and no call that it let through", async () => {
    const simulator = await startSimulator({ engine: "vllm" });
    const dataDir = await mkdtemp(join(tmpdir(), "refusals-"));
    const gateway = await startGateway({
      DATA_DIR: dataDir,
      LLM_BACKEND: "vllm",
      LLM_BASE_URL: simulator.url,
      EMBEDDING_BASE_URL: simulator.url,
    });
    const limits = { rpm_limit: 1, monthly_token_limit: 0, token_limit: 0, request_limit: 0 };
    const ids: string[] = [];
    try {
      for (const [name, limit] of Object.entries(limits)) {
        const { id, key } = await issueKey(gateway, { [name]: limit });
        ids.push(id);
        for (const [path, body] of [
          ["chat/completions", { messages: [{ role: "user", content: "hello" }], max_tokens: 5 }],
          ["chat/completions", { messages: [{ role: "user", content: "hello" }], max_tokens: 5 }],
          ["embeddings", { input: "hello" }],
        ] as const) {
          const response = await fetch(`${gateway.url}/v1/${path}`, {
            method: "POST",
            headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify(body),
          });
          await response.text();
        }
      }
    } finally {
      await gateway.stop();
      await simulator.stop();
    }
    const lines = await withStore({ DATA_DIR: dataDir }, async ({ db }) => {
      const rows = await db.execute<{ line: string }>(sql`
        select concat_ws(' ', key_id, channel, code, sum(refusals)) as line from limit_refusals
        group by key_id, channel, code order by code, channel, key_id`);
      return rows.map(({ line }) => line);
    });
    await rm(dataDir, { recursive: true });
    const [perMinute, month, tokens, requests] = ids;
    expect(lines).toEqual([
      `${month} chat monthly_limit_exceeded 2`,
      `${month} embeddings monthly_limit_exceeded 1`,
      `${perMinute} chat rate_limit_exceeded 1`,
      `${perMinute} embeddings rate_limit_exceeded 1`,
      `${requests} chat request_limit_exceeded 2`,
      `${requests} embeddings request_limit_exceeded 1`,
      `${tokens} chat token_limit_exceeded 2`,
      `${tokens} embeddings token_limit_exceeded 1`,
    ]);
  });
});
