import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, vi } from "vitest";
import { createCaseTable } from "../../support/case-table.ts";
import { callGateway, chatBody } from "../../support/clients/call-gateway.ts";
import { expectChatError } from "../../support/clients/expect-chat-error.ts";
import { logIn } from "../../support/clients/http-session.ts";
import { issueKey, settledUse } from "../../support/clients/issue-key.ts";
import { startSteadyLoad } from "../../support/clients/load/steady-load.ts";
import { compareAnswers } from "../../support/compare-answers.ts";
import { holdTable } from "../../support/faults/hold-table.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { percentile } from "../../support/percentile.ts";
import {
  type PostgresCluster,
  startPostgresCluster,
} from "../../support/servers/databases/postgres-cluster.ts";
import type { TestGateway } from "../../support/servers/start-gateway.ts";
import { callWithKey } from "../../support/servers/start-replicas.ts";
import { watchServer } from "../../support/servers/watch-server.ts";
import {
  ADMIN_PASSWORD,
  type DatabaseStage,
  openDatabaseStage,
} from "../../support/stages/database-stage.ts";
import { readUsageRows, type StoredUsage } from "../../support/stages/usage/stored-usage.ts";

// biome-ignore lint/style/noProcessEnv: the tests' own switch, not a setting of the program
const isFull = process.env["RELIABILITY_FULL"] === "1";
const CRASH_MS = isFull ? 30_000 : trialSize(3_000, 6_000);
const HANG_MS = isFull ? 20_000 : trialSize(3_000, 6_000);
const REQUESTS_PER_SECOND = 20;
const POOL_MAX = 3;
const POOL_WAIT_MS = 2_000;
/** The plan's limits are some seconds, which the report tells; a machine that does much else may be late. */
const GRACE_MS = 30_000;
const UNREADY_WITHIN_MS = 30_000;
const READY_WITHIN_MS = 60_000;
const STORED_WITHIN_MS = 60_000;
const RPM_LIMIT = 5;
const NO_POSTGRES = "left out: no PostgreSQL here";

vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });
const { shows, leavesOut } = createCaseTable({
  D02: `down for ${CRASH_MS / 1_000} s under ${REQUESTS_PER_SECOND} requests/s`,
  D03: `silent for ${HANG_MS / 1_000} s, 40 callers at once on ${POOL_MAX} connections`,
  D04: `12 callers without a pause on ${POOL_MAX} connections`,
});
const cluster = await startPostgresCluster();
afterAll(() => cluster?.remove());

interface TimedAnswer {
  readonly status: number;
  readonly tookMs: number;
}

/** Calls a route that needs the database; a refusal has to be the one for that, with its wait. */
async function askStorage(gateway: TestGateway, request: object): Promise<TimedAnswer> {
  const startedAt = performance.now();
  const response = await callGateway(gateway.port, request);
  const tookMs = performance.now() - startedAt;
  if (response.status >= 500) {
    expectChatError(response, 503, "storage_unavailable");
    expect(Number(response.header("retry-after"))).toBeGreaterThanOrEqual(1);
  }
  return { status: response.status, tookMs };
}

async function readiness({ port }: TestGateway): Promise<readonly [number, unknown]> {
  const { status, json } = await callGateway(port, { method: "GET", path: "/api/ready" });
  return [status, (json() as { failed?: unknown }).failed];
}

/** Milliseconds until readiness is so. */
async function untilReady(gateway: TestGateway, isReady: boolean): Promise<number> {
  const startedAt = performance.now();
  while (((await readiness(gateway))[0] === 200) !== isReady) await sleep(20);
  return Math.round(performance.now() - startedAt);
}

/** The rows, once there are so many. */
async function storedRows(url: string, count: number): Promise<readonly StoredUsage[]> {
  const until = Date.now() + STORED_WITHIN_MS;
  for (;;) {
    const rows = await readUsageRows({ DATA_DIR: "", DATABASE_URL: url });
    if (rows.length >= count || Date.now() > until) return rows;
    await sleep(100);
  }
}

const listKeys = { method: "GET", path: "/v1/api-keys" };
const newKey = (name: string) => ({ path: "/v1/api-keys", body: { name } });

function crashes(server: PostgresCluster, open: () => DatabaseStage): void {
  shows(
    "D02",
    "chat, /api/ready, /v1/api-keys, login",
    "calls go on, all is told, nothing is lost",
    async () => {
      const { gateway, directUrl } = open();
      const limited = await issueKey(gateway, { rpm_limit: RPM_LIMIT, token_limit: 1e6 });
      const watch = watchServer(gateway);
      const load = startSteadyLoad({ port: gateway.port, requestsPerSecond: REQUESTS_PER_SECOND });
      await sleep(1_000);

      await server.stop("immediate");
      const unreadyMs = await untilReady(gateway, false);
      expect(unreadyMs).toBeLessThan(UNREADY_WITHIN_MS);
      expect(await readiness(gateway)).toEqual([503, ["db"]]);
      const downAt = performance.now();
      const limitedStatuses: number[] = [];
      for (let calls = 0; calls < RPM_LIMIT + 3; calls += 1) {
        const chat = { body: chatBody("sim-chat") };
        const { status } = await callWithKey(gateway, limited.key, chat);
        limitedStatuses.push(status);
      }
      expect(limitedStatuses).toEqual([...Array(RPM_LIMIT).fill(200), 429, 429, 429]);
      expect((await askStorage(gateway, newKey("while away"))).status).toBe(503);
      expect((await askStorage(gateway, listKeys)).status).toBe(503);
      const credentials = { username: "admin", password: ADMIN_PASSWORD };
      const login = {
        path: "/api/auth/login",
        headers: { authorization: undefined },
        body: credentials,
      };
      expect((await askStorage(gateway, login)).status).toBe(503);
      await sleep(Math.max(0, CRASH_MS - (performance.now() - downAt)));

      await server.start();
      const readyMs = await untilReady(gateway, true);
      expect(readyMs).toBeLessThan(READY_WITHIN_MS);
      await sleep(1_000);
      const sent = await load.stop();
      expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
      expect((await askStorage(gateway, newKey("back again"))).status).toBe(201);
      const rows = await storedRows(directUrl, sent.length + RPM_LIMIT);
      const figures = compareAnswers(sent, rows);
      expect((await settledUse(gateway, limited, "tokens")).reserved).toBe(0);
      tell("D02", { unreadyMs, readyMs, ...figures, ...(await watch.finish()) });
      expect(figures).toMatchObject({
        lost: [],
        wrong: [],
        leftWrong: [],
        cut: 0,
        unseenRequests: 0,
      });
      expect(rows).toHaveLength(sent.length + RPM_LIMIT);
    },
  );
}

function hangs(open: () => DatabaseStage): void {
  shows(
    "D03",
    "/v1/api-keys, chat",
    "callers wait no longer than they may, and what was given up on never begins",
    async () => {
      const { gateway, directUrl, connection } = open();
      expect((await askStorage(gateway, listKeys)).status).toBe(200);
      const watch = watchServer(gateway);
      const load = startSteadyLoad({ port: gateway.port, requestsPerSecond: REQUESTS_PER_SECOND });
      await sleep(500);

      connection.set("up", { stall: true });
      connection.set("down", { stall: true });
      const hungAt = performance.now();
      const asked = Array.from({ length: 40 }, (_, index) =>
        askStorage(gateway, newKey(`hung ${index}`)),
      );
      const answers = await Promise.all(asked);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]));
      const slowestMs = Math.round(Math.max(...answers.map(({ tookMs }) => tookMs)));
      expect(slowestMs).toBeLessThan(POOL_WAIT_MS + GRACE_MS);
      expect(await readiness(gateway)).toEqual([503, ["db"]]);
      await sleep(Math.max(0, HANG_MS - (performance.now() - hungAt)));

      connection.clear();
      const readyMs = await untilReady(gateway, true);
      expect(readyMs).toBeLessThan(READY_WITHIN_MS);
      expect((await askStorage(gateway, listKeys)).status).toBe(200);
      const sent = await load.stop();
      expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200]));
      const rows = await storedRows(directUrl, sent.length);
      const figures = compareAnswers(sent, rows);
      const begun = (await keyNames(gateway)).filter((name) => name.startsWith("hung")).length;
      tell("D03", { slowestMs, readyMs, begun, ...figures, ...(await watch.finish()) });
      expect(begun).toBeLessThanOrEqual(POOL_MAX);
      expect(figures).toMatchObject({ lost: [], wrong: [], leftWrong: [], cut: 0 });
      expect(rows).toHaveLength(sent.length);
    },
  );
}

function exhaustedPool(open: () => DatabaseStage): void {
  shows(
    "D04",
    "chat, /metrics, /api/ready, /v1/api-keys",
    "slow queries of callers hold up no one but callers",
    async () => {
      const { gateway, directUrl } = open();
      const session = await logIn(gateway.url, "admin", ADMIN_PASSWORD);
      const watch = watchServer(gateway);
      const held = await holdTable(directUrl, "audit_log");
      let isOver = false;
      const slow = {
        method: "GET",
        path: "/api/admin/audit",
        headers: { authorization: `Bearer ${session}` },
      };
      const askOnAndOn = async () => {
        const statuses: number[] = [];
        while (!isOver) statuses.push((await callGateway(gateway.port, slow)).status);
        return statuses;
      };
      const slowCallers = Promise.all(Array.from({ length: 12 }, askOnAndOn));
      // They end with the server where the test fails before they are told to.
      slowCallers.catch(() => undefined);
      await sleep(POOL_WAIT_MS / 2);

      const load = startSteadyLoad({ port: gateway.port, requestsPerSecond: REQUESTS_PER_SECOND });
      const others: TimedAnswer[] = [];
      const metricsMs: number[] = [];
      const until = performance.now() + 4_000;
      while (performance.now() < until) {
        others.push(await askStorage(gateway, listKeys));
        const startedAt = performance.now();
        const metrics = await callGateway(gateway.port, {
          method: "GET",
          path: "/metrics",
          headers: { authorization: undefined },
        });
        metricsMs.push(performance.now() - startedAt);
        expect(metrics.status).toBe(200);
        expect(await readiness(gateway)).toEqual([200, undefined]);
      }
      const sent = await load.stop();
      // Usage reaches the database past the callers.
      const rows = await storedRows(directUrl, sent.length);
      isOver = true;
      await held.release();
      const slowStatuses = new Set((await slowCallers).flat());
      const otherStatuses = new Set(others.map(({ status }) => status));
      const slowestMs = Math.round(Math.max(...others.map(({ tookMs }) => tookMs)));
      const figures = compareAnswers(sent, rows);
      tell("D04", { slowestMs, slowestMetricsMs: Math.round(Math.max(...metricsMs)), ...figures });
      expect([...slowStatuses]).toContain(503);
      // A connection may become free in the last moment of the wait.
      for (const status of otherStatuses) expect([200, 503]).toContain(status);
      expect(slowestMs).toBeLessThan(POOL_WAIT_MS + GRACE_MS);
      // Behind the callers each would take the whole wait.
      expect(percentile(metricsMs, 0.5)).toBeLessThan(POOL_WAIT_MS);
      expect(figures).toMatchObject({ lost: [], wrong: [], leftWrong: [], cut: 0 });
      expect(rows).toHaveLength(sent.length);
      await vi.waitFor(
        async () => expect((await askStorage(gateway, listKeys)).status).toBe(200),
        READY_WITHIN_MS,
      );
      await watch.finish();
    },
  );
}

async function keyNames({ port }: TestGateway): Promise<readonly string[]> {
  const path = "/v1/api-keys?limit=100";
  const { json } = await callGateway(port, { method: "GET", path });
  return (json() as { data: { name: string }[] }).data.map(({ name }) => name);
}

function tell(id: string, figures: object): void {
  // biome-ignore lint/suspicious/noConsole: the figures are what is asked for
  console.info(`${id} ${JSON.stringify(figures)}`);
}

describe("a server whose database", () => {
  if (cluster === undefined) {
    for (const id of ["D02", "D03", "D04"]) leavesOut(id, "chat", NO_POSTGRES);
    return;
  }
  let stage: DatabaseStage;
  beforeEach(async () => {
    const environment = {
      DB_POOL_MAX: String(POOL_MAX),
      DB_POOL_WAIT_MS: String(POOL_WAIT_MS),
      METRICS_ENABLED: "1",
    };
    stage = await openDatabaseStage({ server: cluster, environment });
  });
  afterEach(() => stage.close());
  describe("crashes", () => crashes(cluster, () => stage));
  describe("hangs", () => hangs(() => stage));
  describe("is kept busy", () => exhaustedPool(() => stage));
});
