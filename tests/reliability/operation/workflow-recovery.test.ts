import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { describe, expect, vi } from "vitest";
import type { LedgerEntry } from "../../../simulator/ledger.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { callHttp, logIn } from "../../support/clients/http-session.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";

const ROWS = trialSize(200, 10_000);
const KILLS = trialSize(1, 5);
/** The full form has the lease of a real installation, after which another replica goes on within 30 s. */
const LEASE_MS = trialSize(2_000, 20_000);
const TIME_LIMIT_MS = trialSize(240_000, 1_200_000);
const WAIT = { timeout: TIME_LIMIT_MS, interval: 50 };
/** Finished rows are stored every second; the small form runs on machines that do much else. */
const UNSTORED_MS = trialSize(10_000, 2_500);
const PASSWORD = "the administrator's password";
const ENDED = new Set(["completed", "failed", "stopped"]);

const promptOf = ({ body = "{}" }: LedgerEntry): string => JSON.parse(body).messages.at(-1).content;

/** Calls the first replica as its administrator, whatever became of earlier sessions' process. */
function clientOf(replicas: Replicas, token: string) {
  return async (method: string, path: string, body?: unknown) => {
    const url = replicas.gateways[0]?.url ?? "";
    const answer = await callHttp(url, {
      method,
      path,
      token,
      ...(body !== undefined && { body }),
    });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.body;
  };
}
type Client = ReturnType<typeof clientOf>;

/** Starts a run that asks a model for each row and keeps the answers in a dataset. */
async function startRun(call: Client): Promise<string> {
  const columns = [
    { name: "n", type: "integer" },
    { name: "answer", type: "text" },
  ];
  await call("POST", "/api/datasets", { name: "answers", columns });
  const key = await call("POST", "/v1/api-keys", { name: "workflows" });
  const workflow = await call("POST", "/api/pipeline/workflows", {
    name: "ask for each row",
    key_id: key.id,
    steps: [
      { id: "rows", kind: "input" },
      { id: "ask", kind: "chat", model: "sim-chat", prompt: "Row {{ row.n }}.", concurrency: 16 },
      { id: "keep", kind: "dataset_write", dataset: "answers", mode: "append" },
    ],
  });
  const rows = Array.from({ length: ROWS }, (_, index) => ({ n: index + 1 }));
  const run = await call("POST", `/api/pipeline/workflows/${workflow.id}/runs`, { rows });
  return run.runId;
}

/** Which replica works on the run is not shown, so both are lost at once, and come back. */
async function loseWorkers(replicas: Replicas, signal: "SIGKILL" | "SIGSTOP"): Promise<void> {
  if (signal === "SIGKILL") {
    await Promise.all(replicas.gateways.map((_, index) => replicas.restart(index)));
    return;
  }
  for (const gateway of replicas.gateways) gateway.kill(signal);
  await sleep(LEASE_MS + 1_000);
  for (const gateway of replicas.gateways) gateway.kill("SIGCONT");
}

/** Every answer to a row but the last one was lost with its worker, in the second before. */
function expectAskedOnce(answered: readonly LedgerEntry[], lostAt: readonly number[]): void {
  const byPrompt = new Map<string, LedgerEntry[]>();
  for (const entry of answered) {
    const prompt = promptOf(entry);
    byPrompt.set(prompt, [...(byPrompt.get(prompt) ?? []), entry]);
  }
  expect(byPrompt.size).toBe(ROWS);
  const isLost = ({ endedAt = 0 }: LedgerEntry) =>
    lostAt.some((at) => endedAt > at - UNSTORED_MS && endedAt < at + LEASE_MS * 2);
  const repeated = [...byPrompt.values()].flatMap((entries) => entries.slice(0, -1));
  expect(repeated.filter((entry) => !isLost(entry)).map(promptOf)).toEqual([]);
}

vi.setConfig({ testTimeout: TIME_LIMIT_MS });
const table = createCaseTable({ W04: `${ROWS} rows, ${KILLS} kills and a stop` });
const NO_SERVERS = "left out: there is no PostgreSQL or no Redis";

describe("a run whose workers are lost", () => {
  if (databaseServerUrl === undefined) {
    table.leavesOut("W04", "run", NO_SERVERS);
    return;
  }
  table.shows(
    "W04",
    "run",
    "completes elsewhere, asks no stored row again, and commits its dataset once",
    async () => {
      const replicas = await startReplicas({
        count: 2,
        simulator: { latencyMs: 60 },
        environment: { RUN_LEASE_MS: String(LEASE_MS), ADMIN_PASSWORD: PASSWORD },
      });
      if (replicas === undefined) return table.leavesOut("W04", "run", NO_SERVERS);
      const { simulator, databaseUrl } = replicas;
      const sql = postgres(databaseUrl, { max: 1, onnotice: () => undefined });
      const asked = () => simulator.ledger().filter(({ body = "" }) => body.includes("Row "));
      const answered = () => asked().filter(({ end }) => end === "complete");
      try {
        const token = await logIn(replicas.gateways[0]?.url ?? "", "admin", PASSWORD);
        const call = clientOf(replicas, token);
        const runId = await startRun(call);
        const readRun = () => call("GET", `/api/pipeline/runs/${runId}`);
        const lostAt: number[] = [];
        for (let fault = 1; fault <= KILLS + 1; fault += 1) {
          const after = Math.floor((ROWS * fault) / (KILLS + 2));
          await vi.waitFor(async () => {
            expect(answered().length, JSON.stringify(await readRun())).toBeGreaterThan(after);
          }, WAIT);
          lostAt.push(Date.now());
          const before = asked().length;
          await loseWorkers(replicas, fault > KILLS ? "SIGSTOP" : "SIGKILL");
          await vi.waitFor(() => expect(asked().length).toBeGreaterThan(before), WAIT);
        }
        const run = await vi.waitFor(async () => {
          const found = await readRun();
          expect(ENDED).toContain(found.status);
          return found;
        }, WAIT);
        expect([run.status, run.error]).toEqual(["completed", null]);
        expectAskedOnce(answered(), lostAt);
        // A call that was cut with its server may have reached the engine without a row, or have a row and not got there.
        const [usage] = await sql`
          select count(*)::int as rows, count(*) filter (where outcome = 'ok')::int as answered
          from usage_records where run_id = ${runId}`;
        expect(usage?.["rows"]).toBeGreaterThanOrEqual(ROWS);
        expect(usage?.["answered"]).toBeGreaterThanOrEqual(ROWS);
        expect(usage?.["answered"]).toBeLessThanOrEqual(answered().length);
        const [dataset] = await sql`select rows, version from datasets where name = 'answers'`;
        expect({ ...dataset }).toEqual({ rows: String(ROWS), version: 2 });
      } finally {
        await sql.end();
        await replicas.finish();
      }
    },
  );
});
