import { sql } from "drizzle-orm";
import { afterAll, describe, expect, vi } from "vitest";
import type { Db } from "../../../src/db/context.ts";
import { openPostgres } from "../../../src/db/open-postgres.ts";
import { workflowQueues, workflows, workflowVersions } from "../../../src/db/tables/workflows.ts";
import { createLog } from "../../../src/lib/log.ts";
import { saveSchedules } from "../../../src/workflows/triggers/save-schedules.ts";
import { createCaseTable } from "../../support/case-table.ts";
import { scrapeMetrics } from "../../support/clients/scrape-metrics.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import { type Replicas, startReplicas } from "../../support/servers/start-replicas.ts";
import { createMovedClock } from "../../support/stages/moved-clock.ts";

vi.setConfig({ testTimeout: 500_000, hookTimeout: 400_000 });

const CASE = "W07";
const ID = "wf_0000000000000000000001";
const INTERVAL_MS = 10_000;
/** In real time, or with a clock that a test moves from tick to tick. */
const TRIAL = trialSize({ ticks: 4, isMoved: true }, { ticks: 30, isMoved: false });
const WAIT = { timeout: 120_000, interval: 20 };

const table = createCaseTable({
  [CASE]: `${TRIAL.ticks} ticks of @every 10s, two kills${TRIAL.isMoved ? ", with a clock that is moved" : ""}`,
});
const clock = await createMovedClock();
afterAll(() => clock.remove());
const replicas = await startReplicas({
  environment: {
    ...(TRIAL.isMoved && clock.environment),
    METRICS_ENABLED: "1",
    // Nothing works on the runs, so that the ticks alone are counted.
    WORKFLOW_CONCURRENCY: "0",
  },
});

describe("schedules of three replicas", () => {
  if (replicas === undefined)
    table.leavesOut(CASE, "3 replicas", "left out: no PostgreSQL or no Redis");
  else eachTickOnce(replicas);
});

function eachTickOnce(stage: Replicas): void {
  afterAll(stage.finish);
  const { gateways } = stage;

  table.shows(CASE, "3 replicas", "each tick once, while two of them are killed", async () => {
    const database = await openPostgres(
      stage.databaseUrl,
      { DB_POOL_MAX: 2, DB_POOL_WAIT_MS: 30_000 },
      createLog("error"),
    );
    const { db } = database;
    const savedAt = clock.now();
    await addWorkflow(db, savedAt);
    const killAt = [Math.floor(TRIAL.ticks / 3), Math.floor((2 * TRIAL.ticks) / 3)];
    const restarts: Promise<unknown>[] = [];
    for (let tick = 1; tick <= TRIAL.ticks; tick += 1) {
      const living = gateways.filter((_, index) => index >= restarts.length);
      if (TRIAL.isMoved) {
        await clock.passTo(savedAt + tick * INTERVAL_MS + 200 - Date.now(), living);
      }
      await vi.waitFor(
        async () => expect((await readTicks(db)).length).toBeGreaterThanOrEqual(tick),
        WAIT,
      );
      if (killAt.includes(tick)) restarts.push(stage.restart(restarts.length));
    }
    await Promise.all(restarts);
    const ticks = await readTicks(db);
    const seconds = ticks.map((at) => (Date.parse(at) - savedAt) / 1_000);
    table.tells(CASE, `ticks at ${seconds.join(", ")} s`);
    expect(new Set(ticks).size).toBe(ticks.length);
    expect(seconds.every((second) => Number.isInteger(second / 10))).toBe(true);
    const gaps = seconds.map((second, index) => second - (seconds[index - 1] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(20);
    expect(ticks.length).toBeGreaterThanOrEqual(TRIAL.ticks * 0.93);
    expect(ticks.length).toBeLessThanOrEqual(TRIAL.ticks + 2);
    // One runs, one waits, the others overlap: as many as there were ticks.
    const [queue] = await db.select({ discarded: workflowQueues.discarded }).from(workflowQueues);
    expect(queue?.discarded).toEqual({ overlap: ticks.length - 2 });
    for (const gateway of gateways) {
      expect((await scrapeMetrics(gateway)).get("svc_scheduler_up")).toBe(1);
    }
    await database.close();
  });
}

async function addWorkflow(db: Db, now: number): Promise<void> {
  const triggers = [
    {
      kind: "schedule" as const,
      every: "10s",
      timezone: "UTC",
      coalesce: false,
      allow_loop: false,
    },
  ];
  const definition = { triggers, steps: [] };
  await db.transaction(async (transaction) => {
    const owner = sql`(select id from users where role = 'admin' limit 1)`;
    await transaction
      .insert(workflows)
      .values({ id: ID, name: "ticks", ownerId: owner, definition });
    await transaction.insert(workflowVersions).values({ workflowId: ID, version: 1, definition });
    await transaction.insert(workflowQueues).values({ workflowId: ID });
    await saveSchedules(transaction, ID, triggers, now);
  });
}

/** The times of the ticks that were taken. */
async function readTicks(db: Db): Promise<readonly string[]> {
  const rows = await db.execute<{ fact: string }>(
    sql`select fact from workflow_facts where workflow_id = ${ID} order by fact`,
  );
  return rows.map(({ fact }) => fact);
}
