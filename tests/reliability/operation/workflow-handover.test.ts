import postgres from "postgres";
import { describe, expect, vi } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startRedisServer } from "../../support/servers/redis-server.ts";
import { startGateway } from "../../support/servers/start-gateway.ts";
import { startSimulator } from "../../support/servers/start-simulator.ts";
import { errorLines, expectCleanOutput } from "../../support/stages/engine-stage.ts";

const RUNS = 3;
/** Rows of one run that are asked at once. */
const CONCURRENCY = 4;
/** Rows of all runs that are answered before the stop, and then those under way. */
const ANSWERED = RUNS * CONCURRENCY * 3;
const UNDER_WAY = RUNS * CONCURRENCY;
/** Of one run: even one that got all those answers has rows left at the stop. */
const ROWS = ANSWERED + CONCURRENCY + trialSize(10, 1_000);
const TIME_LIMIT_MS = 240_000;
const WAIT = { timeout: TIME_LIMIT_MS, interval: 50 };
const PASSWORD = "the administrator's password";
const ANY_ROW = { body: "Row " };

type Call = (method: string, path: string, body?: unknown) => Promise<ReadBody>;
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies that they then compare
type ReadBody = any;

function clientOf(url: string, token: string): Call {
  return async (method, path, body) => {
    const answer = await callHttp(url, {
      ...{ method, path, token },
      ...(body !== undefined && { body }),
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
}

/** Starts a run that asks a model for each row and keeps the answers in a dataset of its own. */
async function startRun(call: Call, keyId: string, name: string): Promise<string> {
  const workflow = await call("POST", "/api/pipeline/workflows", {
    ...{ name, key_id: keyId },
    steps: [
      { id: "rows", kind: "input" },
      {
        ...{ id: "ask", kind: "chat", model: "sim-chat", concurrency: CONCURRENCY },
        prompt: `Row {{ row.n }} of ${name}.`,
      },
      { id: "keep", kind: "dataset_write", dataset: name, create: {} },
    ],
  });
  const rows = Array.from({ length: ROWS }, (_, index) => ({ n: index + 1 }));
  const run = await call("POST", `/api/pipeline/workflows/${workflow.id}/runs`, { rows });
  return run.runId;
}

/** Whether each run is free, or has been taken by a second worker: the first one's claim is the first. */
async function areLeft(databaseUrl: string): Promise<readonly boolean[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
  try {
    const jobs = await sql<{ is_left: boolean }[]>`
      select lease_until is null or claim > 1 as is_left
      from outbox_events where sink = 'workflow_run'`;
    return jobs.map((job) => job.is_left);
  } finally {
    await sql.end();
  }
}

/** The answers that are stored with their rows. */
const storedCalls = ({ steps }: ReadBody): number =>
  steps.find(({ id }: ReadBody) => id === "ask")?.usage?.calls ?? 0;

const promptOf = ({ body = "{}" }: LedgerEntry): string => JSON.parse(body).messages.at(-1).content;

vi.setConfig({ testTimeout: TIME_LIMIT_MS });
const NO_SERVERS = "left out: there is no PostgreSQL or no Redis";
const table = createCaseTable({ W04: `${RUNS} runs of ${ROWS} rows` });

describe("a replica that is told to stop while it works on runs", () => {
  if (databaseServerUrl === undefined) {
    table.leavesOut("W04", "hand-over", NO_SERVERS);
    return;
  }
  const serverUrl = databaseServerUrl;
  table.shows(
    "W04",
    "hand-over",
    "hands them over, and no finished row is asked again",
    async () => {
      const redis = await startRedisServer();
      if (redis === undefined) return table.leavesOut("W04", "hand-over", NO_SERVERS);
      const simulator = await startSimulator();
      simulator.script({ match: ANY_ROW, times: ANSWERED, text: "answered before" });
      simulator.script({ match: ANY_ROW, times: UNDER_WAY, stall: { at: "headers" } });
      const database = await createMigratedDatabase(serverUrl);
      const environment = {
        ...{ LLM_BACKEND: "vllm", LLM_BASE_URL: simulator.url },
        ...{ DATABASE_URL: database.url, REDIS_URL: redis.url },
        ...{ APP_SECRET: "the secret of both replicas", ADMIN_PASSWORD: PASSWORD },
      };
      const stopped = await startGateway(environment);
      const asked = () => simulator.ledger().filter(({ body = "" }) => body.includes(ANY_ROW.body));
      try {
        const token = await logIn(stopped.url, "admin", PASSWORD);
        const call = clientOf(stopped.url, token);
        const { id: keyId } = await call("POST", "/v1/api-keys", { name: "workflows" });
        const names = Array.from({ length: RUNS }, (_, index) => `answers_${index + 1}`);
        const runIds = await Promise.all(names.map((name) => startRun(call, keyId, name)));
        const readRuns = (by: Call): Promise<readonly ReadBody[]> =>
          Promise.all(runIds.map((id) => by("GET", `/api/pipeline/runs/${id}`)));
        await vi.waitFor(async () => {
          const calls = (await readRuns(call)).map(storedCalls);
          expect(calls.reduce((sum, one) => sum + one, 0)).toBe(ANSWERED);
          expect(asked()).toHaveLength(ANSWERED + UNDER_WAY);
        }, WAIT);
        const before = new Set(
          asked()
            .filter(({ end }) => end === "complete")
            .map(promptOf),
        );
        expect(before.size).toBe(ANSWERED);

        const other = await startGateway(environment);
        try {
          stopped.kill("SIGTERM");
          expect(await stopped.exited).toBe(0);
          expect(await areLeft(database.url)).toEqual(runIds.map(() => true));
          const ended = await vi.waitFor(async () => {
            const runs = await readRuns(clientOf(other.url, token));
            expect(runs.filter(({ ended_at }) => ended_at === null)).toEqual([]);
            return runs;
          }, WAIT);
          expect(ended.map(({ status, error, attempts }) => [status, error, attempts])).toEqual(
            runIds.map(() => ["completed", null, 2]),
          );
          const answered = asked()
            .filter(({ end }) => end === "complete")
            .map(promptOf);
          expect(answered).toHaveLength(RUNS * ROWS);
          expect(new Set(answered).size).toBe(RUNS * ROWS);
          expect(asked().filter((entry) => before.has(promptOf(entry)))).toHaveLength(ANSWERED);
          const { data } = await clientOf(other.url, token)("GET", "/api/datasets");
          const written = data.map(({ name, rows }: ReadBody) => [name, rows]);
          expect(written.sort()).toEqual(names.map((name) => [name, ROWS]));
          for (const gateway of [stopped, other]) {
            expectCleanOutput(gateway);
            expect(errorLines(gateway)).toEqual([]);
          }
        } finally {
          await other.stop();
        }
      } finally {
        await stopped.stop();
        await simulator.stop();
        await redis.remove();
        await database.drop();
      }
    },
  );
});
