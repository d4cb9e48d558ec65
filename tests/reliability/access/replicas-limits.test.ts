import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { chatBody } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import type { RawResponse } from "../../support/clients/raw-client.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import type { TestGateway } from "../../support/servers/start-gateway.ts";
import { callWithKey, type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";
import {
  startWebhookReceiver,
  type WebhookReceiver,
} from "../../support/servers/webhook-receiver.ts";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 });

const MODEL = "sim-chat";

const table = createCaseTable({
  K04: "500 calls on 3 replicas",
  K05: "50 calls at once on 3 replicas",
  K10: "100 calls at once on 3 replicas",
});
const receiver = await startWebhookReceiver();
const environment = {
  ALERT_WEBHOOK_URL: `${receiver.url}/alerts`,
  EGRESS_ALLOW: "127.0.0.1",
  LLM_REQUEST_TIMEOUT: "60",
};
const started = await startReplicas({ environment });
const SOON = { timeout: 120_000 };
/** What a server logs of a Redis that is there and does not answer. */
const HUNG = "no answer within";
const BURST_TRIES = 10;
const CASES = ["K03", "K04", "K05", "K10"] as const;

describe("three replicas and one Redis", () => {
  if (started === undefined) {
    for (const id of CASES)
      table.leavesOut(id, "3 replicas", "left out: no PostgreSQL or no Redis");
    afterAll(() => receiver.stop());
  } else sharedLimits(started, receiver);
});

function sharedLimits(replicas: Replicas, webhook: WebhookReceiver): void {
  const { gateways, simulator, redis } = replicas;
  const [first] = gateways as readonly [TestGateway, ...TestGateway[]];
  let sql: postgres.Sql;

  beforeAll(() => {
    sql = postgres(replicas.databaseUrl, { max: 2, onnotice: () => undefined });
  });
  afterAll(async () => {
    await sql.end();
    await replicas.finish();
    await webhook.stop();
  });

  /** Calls at once, of a key of 60 a minute: quickly enough that none falls into the next minute. */
  const BURST = trialSize(150, 500);
  const call = (gateway: TestGateway, key: string, more: Record<string, unknown> = {}) =>
    callWithKey(gateway, key, { body: chatBody(MODEL, more) });
  /** Sends so many calls at once, to the replicas in turn. */
  const callAll = (count: number, key: string, more: Record<string, unknown> = {}) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        call(gateways[index % gateways.length] ?? first, key, more),
      ),
    );
  const statusesOf = (responses: readonly RawResponse[]) => {
    const counts: Record<number, number> = {};
    for (const { status } of responses) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  };
  /**
   * Sends a burst with keys of 60 a minute until Redis has answered all of one: on a machine that does much else it may
   * get no processor for half a second, and what then waits for it is refused. Returns a burst without such refusals.
   */
  const burst = async (send: (key: string) => Promise<readonly RawResponse[]>) => {
    for (let tries = 1; ; tries += 1) {
      const { key } = await replicas.issueKey({ rpm_limit: 60 });
      const before = servedNow();
      const responses = await send(key);
      const missed = responses.filter(({ status }) => status === 503);
      if (missed.length === 0) return { responses, served: servedNow() - before };
      expect(tries, "bursts that Redis did not answer").toBeLessThan(BURST_TRIES);
      for (const refused of missed) expectChatError(refused, 503, "storage_unavailable");
      expect(gateways.some((gateway) => gateway.output().includes(HUNG))).toBe(true);
    }
  };
  const servedNow = () =>
    simulator.ledger().filter(({ path }) => path.endsWith("/chat/completions")).length;

  table.shows(
    "K04",
    "chat, 3 replicas",
    `60 of ${BURST} calls of a key of 60 a minute reach the engine`,
    async () => {
      const { responses, served } = await burst((key) => callAll(BURST, key));
      expect(statusesOf(responses)).toEqual({ 200: 60, 429: BURST - 60 });
      expect(served).toBe(60);
      for (const refused of responses.filter(({ status }) => status === 429)) {
        expectChatError(refused, 429, "rate_limit_exceeded");
        const waitSeconds = Number(refused.header("retry-after"));
        expect(waitSeconds).toBeGreaterThanOrEqual(1);
        expect(waitSeconds).toBeLessThanOrEqual(60);
      }
    },
  );

  table.shows("K03", "chat, one of 3 replicas", "the same at one of them", async () => {
    const { responses, served } = await burst((key) =>
      Promise.all(Array.from({ length: BURST }, () => call(first, key))),
    );
    expect(statusesOf(responses)).toEqual({ 200: 60, 429: BURST - 60 });
    expect(served).toBe(60);
  });

  table.shows(
    "K05",
    "chat, 3 replicas",
    "what a month's limit leaves is spent and no token more",
    async () => {
      const { id, key } = await replicas.issueKey({ monthly_token_limit: 10_000 });
      const used = async () => {
        const [row] =
          await sql`select sum(input_tokens + output_tokens)::int as tokens from usage_records where key_id = ${id}`;
        return Number(row?.["tokens"] ?? 0);
      };
      const responses = await callAll(50, key, { max_tokens: 1_000 });
      const served = responses.filter(({ status }) => status === 200);
      expect(served.length).toBeGreaterThan(0);
      for (const response of served) expect(response.isComplete).toBe(true);
      for (const refused of responses.filter(({ status }) => status !== 200)) {
        if (refused.status === 503) expectChatError(refused, 503, "storage_unavailable");
        else expectChatError(refused, 429, "monthly_limit_exceeded");
      }
      // What was not used is there again at once.
      const status = async () => (await call(first, key, { max_tokens: 1_000 })).status;
      await expect.poll(status, SOON).toBe(200);
      let last: RawResponse | undefined;
      for (let round = 0; round < 200 && last?.header("x-should-retry") !== "false"; round += 1) {
        const answers = await callAll(12, key, { max_tokens: 1_000 });
        last = answers.find(({ status }) => status === 429);
      }
      expect(last?.header("x-should-retry")).toBe("false");
      expect(Number(last?.header("retry-after"))).toBeGreaterThan(0);
      await expect.poll(used, SOON).toBeGreaterThan(9_000);
      expect(await used()).toBeLessThanOrEqual(10_000);
    },
  );

  table.shows(
    "K10",
    "chat, 3 replicas",
    "one alert at 80 % and one at 100 %, of 100 calls that end at once",
    async () => {
      const { id, key } = await replicas.issueKey({ monthly_token_limit: 400_000 });
      simulator.script({
        match: { body: '"max_tokens":4000' },
        times: "always",
        text: "word ",
        repeat: 2_000,
      });
      const responses = await callAll(100, key, { max_tokens: 4_000 });
      expect(statusesOf(responses)[200]).toBeGreaterThan(80);
      for (let round = 0; round < 100; round += 1) {
        const [answer] = await callAll(1, key, { max_tokens: 4_000 });
        if (answer?.status === 429) break;
      }
      const kinds = async () => {
        const rows =
          await sql`select kind from outbox_events where body::text like ${`%${id}%`} order by kind`;
        return rows.map((row) => row["kind"]);
      };
      const both = ["key_budget_exceeded", "key_budget_warning"];
      await expect.poll(kinds, SOON).toEqual(both);
      const posted = () =>
        webhook
          .posts()
          .filter(({ body }) => body.includes(id))
          .map(({ json }) => json.type)
          .sort();
      await expect.poll(posted, SOON).toEqual(both);
      await callAll(30, key, { max_tokens: 4_000 });
      await sleep(2_000);
      expect(await kinds()).toEqual(both);
      expect(posted()).toEqual(both);
      const suppressions =
        await sql`select type, count from alert_suppressions where subject = ${id} order by type`;
      expect(suppressions.map((row) => [row["type"], Number(row["count"])])).toEqual([
        ["key_budget_exceeded", 1],
        ["key_budget_warning", 1],
      ]);
    },
  );

  table.shows(
    "K05",
    "a killed replica",
    "what its calls held comes back with its restart",
    async () => {
      const { id, key } = await replicas.issueKey({ token_limit: 10_000 });
      const long = { max_tokens: 8_000 };
      simulator.script({ match: { body: '"max_tokens":8000' }, stall: { at: 3 } });
      void call(gateways[2] ?? first, key, { ...long, stream: true }).catch(() => undefined);
      await simulator.awaitEntry(({ body }) => body?.includes('"max_tokens":8000') === true);
      const held = await call(first, key, { max_tokens: 500 });
      expect(held.status).toBe(200);
      const usage = () =>
        callWithKey(first, key, { method: "GET", path: `/v1/api-keys/${id}/usage` });
      const reserved = async () => {
        const { limits } = (await usage()).json() as {
          limits: Record<string, { reserved?: number }>;
        };
        return Object.values(limits).reduce((sum, limit) => sum + (limit?.reserved ?? 0), 0);
      };
      expect(await reserved()).toBeGreaterThan(8_000);
      await replicas.restart(2);
      await expect.poll(reserved, SOON).toBe(0);
      expect((await call(gateways[2] ?? first, key, long)).status).toBe(200);
    },
  );

  table.shows(
    "K04",
    "Redis killed under load, 3 replicas",
    "limited calls are refused, the others answered, then all is exact again",
    async () => {
      const { id, key } = await replicas.issueKey({ request_limit: 300 });
      const unlimited = (await replicas.issueKey({})).key;
      const before = await callAll(60, key);
      expect(statusesOf(before)).toEqual({ 200: 60 });
      let isOver = false;
      const limitedAnswers: RawResponse[] = [];
      const otherAnswers: RawResponse[] = [];
      const load = async (into: RawResponse[], loadKey: string) => {
        for (let index = 0; !isOver; index += 1) {
          const gateway = gateways[index % gateways.length] ?? first;
          into.push(await call(gateway, loadKey));
          await sleep(20);
        }
      };
      const loads = [load(limitedAnswers, key), load(otherAnswers, unlimited)];
      await sleep(300);
      await redis.kill();
      await sleep(2_000);
      const refused = await call(first, key);
      expectChatError(refused, 503, "storage_unavailable");
      expect(Number(refused.header("retry-after"))).toBeGreaterThanOrEqual(1);
      await redis.start();
      await expect.poll(async () => (await call(first, key)).status, SOON).toBe(200);
      await sleep(3_000);
      isOver = true;
      await Promise.all(loads);
      expect(statusesOf(otherAnswers)).toEqual({ 200: otherAnswers.length });
      expect(Object.keys(statusesOf(limitedAnswers)).sort()).toEqual(
        expect.arrayContaining(["200", "503"]),
      );
      // Every replica knows again what was used before, and all together admit the rest and no more.
      await expect.poll(async () => statusesOf(await callAll(60, key)), SOON).toEqual({ 429: 60 });
      await expect
        .poll(async () => {
          const [row] =
            await sql`select count(*)::int as calls from usage_records where key_id = ${id}`;
          return row?.["calls"];
        }, SOON)
        .toBe(300);
      expectChatError(await call(first, key), 429, "request_limit_exceeded");
      for (const gateway of gateways) {
        const lines = gateway.output().split("\n");
        const lost = lines.filter((line) => line.includes("Redis at REDIS_URL is unreachable"));
        expect(lost.length).toBeGreaterThan(0);
        expect(lost.filter((line) => !line.includes(HUNG)).length).toBeLessThanOrEqual(1);
        expect(lines.filter((line) => line.includes("Redis is reachable again"))).toHaveLength(
          lost.length,
        );
      }
    },
  );
}
