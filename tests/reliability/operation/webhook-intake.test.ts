import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asc, eq } from "drizzle-orm";
import { describe, expect, vi } from "vitest";
import type { Database } from "../../../src/db/database.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { users } from "../../../src/db/tables/users.ts";
import { activeRuns, workflowRuns } from "../../../src/db/tables/workflows.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import { createLog } from "../../../src/lib/log.ts";
import { hashWebhookUrl } from "../../../src/workflows/records/webhook-credential.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { faultRandom } from "../../support/faults/fault-random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { startPostgresCluster } from "../../support/servers/databases/postgres-cluster.ts";
import { createMigratedDatabase } from "../../support/servers/databases/test-database.ts";
import { startGateway, type TestGateway } from "../../support/servers/start-gateway.ts";
import { startReplicas } from "../../support/servers/start-replicas.ts";
import { insertWorkflow } from "../../support/workflows/run-stage.ts";

const KILLS = trialSize(1, 200);
/** Shown within one process elsewhere (`exact-queue.test.ts`). */
const hasReplicas = trialSize(false, true);
const NO_POSTGRES = "no PostgreSQL on this machine";
vi.setConfig({ testTimeout: trialSize(120_000, 2_400_000) });
const table = createCaseTable({ W01: `${KILLS} kills`, W02: "200 calls at once, 3 replicas" });

const log = createLog("silent");
const openStore = (url: string) =>
  openPostgres(url, { DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 30_000 }, log);

/** Workflows whose address is their credential. */
async function addWorkflows({ db }: Database, count: number) {
  const [owner] = await db.select().from(users).where(eq(users.role, "admin"));
  const found = [];
  for (let index = 0; index < count; index += 1) {
    const address = `whu_${randomBase62(43)}`;
    const fields = { ownerId: owner?.id ?? null, webhookUrlHash: hashWebhookUrl(address) };
    found.push({ address, id: await insertWorkflow({ db }, fields) });
  }
  return found;
}

interface Answer {
  readonly status: number;
  readonly runId: string | undefined;
  readonly retryAfter: string | null;
  readonly isReplayed: boolean;
}

async function send(
  url: string,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${url}/api/pipeline/webhook/${address}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '[{"a":1}]',
  });
  const { runId } = (await response.json()) as { runId?: string };
  const isReplayed = response.headers.has("idempotency-replayed");
  return {
    status: response.status,
    runId,
    retryAfter: response.headers.get("retry-after"),
    isReplayed,
  };
}

/** Eight senders, until nobody answers; `begun` resolves with the first answer. */
function sendUntilKilled(url: string, address: string, acknowledged: Set<string>) {
  let first: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (first = resolve));
  const sendOn = async (): Promise<void> => {
    const answer = await send(url, address).catch(() => undefined);
    if (answer === undefined) return;
    if (answer.status === 202) acknowledged.add(answer.runId ?? "none");
    first();
    await sendOn();
  };
  return { begun, ended: Promise.all(Array.from({ length: 8 }, sendOn)) };
}

const runIds = async ({ db }: Database) =>
  new Set((await db.select({ id: workflowRuns.id }).from(workflowRuns)).map(({ id }) => id));

describe("the intake of webhooks", () => {
  if (databaseServerUrl === undefined) {
    for (const id of ["W01", "W02", "W10"]) table.leavesOut(id, "webhook", NO_POSTGRES);
    return;
  }
  const serverUrl = databaseServerUrl;

  table.shows("W01", "webhook", "what was answered with 202 exists after a kill", async () => {
    const random = faultRandom("webhook intake kills");
    const { url: databaseUrl, drop } = await createMigratedDatabase(serverUrl);
    const dataDir = await mkdtemp(join(tmpdir(), "intake-kills-"));
    const environment = {
      ...{ DATA_DIR: dataDir, DATABASE_URL: databaseUrl, WORKFLOW_CONCURRENCY: "0" },
      PIPELINE_MAX_QUEUED_RUNS: "1000000",
    };
    let gateway: TestGateway | undefined = await startGateway(environment);
    const store = await openStore(databaseUrl);
    try {
      const [workflow] = await addWorkflows(store, 1);
      const acknowledged = new Set<string>();
      for (let kill = 0; kill < KILLS; kill += 1) {
        const load = sendUntilKilled(gateway.url, workflow?.address ?? "", acknowledged);
        await load.begun;
        await new Promise((resolve) => setTimeout(resolve, 20 * random()));
        gateway.kill("SIGKILL");
        await Promise.all([load.ended, gateway.exited]);
        gateway = await startGateway(environment);
      }
      const stored = await runIds(store);
      expect(acknowledged.size).toBeGreaterThanOrEqual(KILLS);
      expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
      table.tells("W01", `${acknowledged.size} acknowledged runs, none lost`);

      // The same key before and after a kill: W10.
      const headers = { "idempotency-key": "the same" };
      const call = () => send(gateway?.url ?? "", workflow?.address ?? "", headers);
      const before = await Promise.all(Array.from({ length: 20 }, call));
      gateway.kill("SIGKILL");
      await gateway.exited;
      gateway = await startGateway(environment);
      const after = await call();
      expect(new Set([...before, after].map(({ runId }) => runId)).size).toBe(1);
      expect([...before, after].filter(({ isReplayed }) => isReplayed)).toHaveLength(20);
    } finally {
      gateway?.kill("SIGKILL");
      await gateway?.exited;
      await store.close();
      await drop();
      await rm(dataDir, { recursive: true, force: true });
    }
  });

  if (!hasReplicas) {
    table.leavesOut("W02", "webhook", "left out: in the fault suite");
    return;
  }

  table.shows("W02", "webhook", "200 calls at once take the places there are", async () => {
    const replicas = await startReplicas({
      environment: { WORKFLOW_CONCURRENCY: "0", PIPELINE_MAX_QUEUED_RUNS: "50" },
    });
    if (replicas === undefined) return;
    const store = await openStore(replicas.databaseUrl);
    try {
      const [workflow] = await addWorkflows(store, 1);
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          send(replicas.gateways[index % 3]?.url ?? "", workflow?.address ?? ""),
        ),
      );
      const accepted = answers.filter(({ status }) => status === 202);
      const refused = answers.filter(({ status }) => status === 429);
      expect([accepted.length, refused.length]).toEqual([51, 149]);
      expect(refused.every(({ retryAfter }) => Number(retryAfter) >= 1)).toBe(true);
      expect(await runIds(store)).toEqual(new Set(accepted.map(({ runId }) => runId)));
      const active = await store.db.select().from(activeRuns).orderBy(asc(activeRuns.number));
      expect(active.map(({ number }) => number)).toEqual(
        Array.from({ length: 51 }, (_, index) => index + 1),
      );
      expect(active.map(({ status }) => status)).toEqual([
        "running",
        ...Array.from({ length: 50 }, () => "queued"),
      ]);
    } finally {
      await store.close();
      await replicas.finish();
    }
  });

  table.shows(
    "W02",
    "webhook, database restarted",
    "never takes more, and answers 503 meanwhile",
    async () => {
      const cluster = await startPostgresCluster();
      if (cluster === undefined) return;
      const gateway = await startGateway({
        ...{ DATABASE_URL: cluster.url, WORKFLOW_CONCURRENCY: "0", DB_POOL_WAIT_MS: "2000" },
        PIPELINE_MAX_QUEUED_RUNS: "50",
      });
      const store = await openStore(cluster.url);
      try {
        const workflows = await addWorkflows(store, 5);
        const sendAll = () =>
          Array.from({ length: 400 }, (_, index) =>
            send(gateway.url, workflows[index % 5]?.address ?? ""),
          );
        const calls = sendAll();
        await Promise.race(calls);
        await cluster.stop("immediate");
        const refused = await send(gateway.url, workflows[0]?.address ?? "");
        expect(refused.status).toBe(503);
        const answers = await Promise.all(calls);
        await cluster.start();
        const accepted = answers.filter(({ status }) => status === 202);
        expect(answers.every(({ status }) => [202, 429, 503].includes(status))).toBe(true);
        expect(accepted.length).toBeLessThanOrEqual(255);
        await expect.poll(() => store.ping()).toBe(true);
        const stored = await runIds(store);
        expect(accepted.filter(({ runId }) => !stored.has(runId ?? ""))).toEqual([]);
        await expect
          .poll(async () => (await send(gateway.url, workflows[0]?.address ?? "")).status)
          .not.toBe(503);
        // A call that waits too long for the database is answered 503 and takes no place.
        const later = await Promise.all(sendAll());
        expect(later.every(({ status }) => [202, 429, 503].includes(status))).toBe(true);
        for (const { address } of workflows) {
          const isFull = async () => (await send(gateway.url, address)).status === 429;
          await expect.poll(isFull).toBe(true);
        }
        const active = await store.db.select().from(activeRuns);
        for (const { id } of workflows) {
          const own = active.filter(({ workflowId }) => workflowId === id);
          expect(own.length).toBe(51);
          expect(own.filter(({ status }) => status === "running")).toHaveLength(1);
        }
      } finally {
        await store.close();
        gateway.kill("SIGKILL");
        await gateway.exited;
        await cluster.remove();
      }
    },
  );
});
