import { sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { alertSettings } from "../../src/config/alert-settings.ts";
import type { Database } from "../../src/db/database.ts";
import { alertSuppressions, outboxEvents } from "../../src/db/tables/outbox.ts";
import {
  activeRuns,
  workflowQueues,
  workflowRuns,
  workflows,
} from "../../src/db/tables/workflows.ts";
import { createLog } from "../../src/lib/log.ts";
import { type AlertCheck, createAlertCheck } from "../../src/operations/alerts/alert-check.ts";
import { createDiscardCounts } from "../../src/workflows/runs/accept/discard-counts.ts";
import { newRunId, utcDay } from "../../src/workflows/runs/run-id.ts";
import { workflowAlerts } from "../../src/workflows/workflow-alerts.ts";
import { createWorkflowFigures, readRunFigures } from "../../src/workflows/workflow-figures.ts";
import { openTestDatabase } from "../support/servers/databases/test-database.ts";

const NOON = Date.UTC(2026, 7, 14, 12);
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const SETTINGS = {
  ALERT_PIPELINE_CONSECUTIVE_FAILURES:
    alertSettings.ALERT_PIPELINE_CONSECUTIVE_FAILURES.parse(undefined),
  ALERT_PIPELINE_QUEUE_AGE_SEC: alertSettings.ALERT_PIPELINE_QUEUE_AGE_SEC.parse(undefined),
};

let database: Database;
let now: number;
let number = 0;

beforeAll(async () => {
  database = await openTestDatabase();
});
beforeEach(async () => {
  now = NOON;
  await database.db.execute(
    sql`truncate workflows, workflow_runs, outbox_events, alert_suppressions cascade`,
  );
});
afterAll(() => database.close());

async function workflow(name: string, queue: Partial<typeof workflowQueues.$inferInsert> = {}) {
  const id = `wf_${name}`;
  await database.db.insert(workflows).values({ id, name, definition: {} });
  await database.db.insert(workflowQueues).values({ workflowId: id, ...queue });
  return id;
}

/** A run in the history, and among the active ones where it is. @param agoMs since it was accepted. */
async function run(
  workflowId: string,
  status: typeof workflowRuns.$inferInsert.status,
  agoMs: number,
  more: Partial<typeof workflowRuns.$inferInsert> & { readonly timeoutSeconds?: number } = {},
): Promise<string> {
  number += 1;
  const at = now - agoMs;
  const { timeoutSeconds = 3_600, ...fields } = more;
  const id = newRunId(at);
  const common = { day: utcDay(at), workflowId, number, queuedAt: new Date(at) };
  const startedAt = status === "running" ? new Date(at) : null;
  await database.db.insert(workflowRuns).values({
    ...{ id, ...common, workflowName: workflowId.slice(3), version: 1, status, startedAt },
    ...{ trigger: { kind: "manual" }, rowsReceived: 1 },
    endedAt: status === "queued" || status === "running" ? null : new Date(at),
    ...fields,
  });
  if (status === "queued" || status === "running") {
    await database.db
      .insert(activeRuns)
      .values({ ...common, runId: id, status, triggerKey: "manual", startedAt, timeoutSeconds });
  }
  return id;
}

const figures = () =>
  readRunFigures(database.db, { now, failures: SETTINGS.ALERT_PIPELINE_CONSECUTIVE_FAILURES });

describe("the figures of runs", () => {
  test("are all 0 without runs", async () => {
    expect(await figures()).toEqual({
      runs: { queued: 0, running: 0, completed: 0, failed: 0, stopped: 0 },
      oldestQueuedSeconds: 0,
      staleRunning: 0,
      failingWorkflows: 0,
    });
  });

  test("count what is queued and running now, and what ended in the last 24 hours", async () => {
    const id = await workflow("one");
    await run(id, "running", 26 * HOUR_MS, { timeoutSeconds: 100 * 3_600 });
    await run(id, "queued", 90_500);
    await run(id, "queued", 1_000);
    await run(id, "completed", 23 * HOUR_MS);
    await run(id, "completed", 25 * HOUR_MS);
    await run(id, "failed", HOUR_MS);
    await run(id, "stopped", HOUR_MS);
    await run(id, "stopped", 2 * HOUR_MS);
    // Accepted before, ended within.
    await run(id, "completed", 30 * HOUR_MS, { endedAt: new Date(now - HOUR_MS) });
    expect(await figures()).toMatchObject({
      runs: { queued: 2, running: 1, completed: 2, failed: 1, stopped: 2 },
      oldestQueuedSeconds: 90.5,
    });
  });

  test("call a run stale that runs for more than half of its own time", async () => {
    await run(await workflow("a"), "running", 31 * MINUTE_MS);
    await run(await workflow("b"), "running", 29 * MINUTE_MS);
    await run(await workflow("c"), "running", 6 * MINUTE_MS, { timeoutSeconds: 600 });
    // It waits for a worker, and its time has not begun.
    const waiting = await run(await workflow("d"), "running", 50 * MINUTE_MS);
    await database.db.update(activeRuns).set({ startedAt: null }).where(sql`run_id = ${waiting}`);
    expect(await figures()).toMatchObject({ runs: { running: 4 }, staleRunning: 2 });
  });

  test("call no age below 0 when the clock went back", async () => {
    await run(await workflow("ahead"), "queued", -MINUTE_MS);
    expect(await figures()).toMatchObject({ oldestQueuedSeconds: 0 });
  });

  test("stand in the metrics, beside the discarded triggers of this process by reason", async () => {
    await run(
      await workflow("bad", { consecutiveFailures: 3, failingSince: new Date(now) }),
      "failed",
      1,
    );
    await workflow("better", { consecutiveFailures: 2, failingSince: new Date(now) });
    const discards = createDiscardCounts();
    const settings = SETTINGS as Parameters<typeof createWorkflowFigures>[0]["settings"];
    const part = createWorkflowFigures({ settings, database, discards });
    const read = (name: string) =>
      part.metrics?.find((metric) => metric.name === name)?.read() ?? [];
    expect(read("svc_pipeline_runs_24h")).toEqual([]);
    await part.refreshStored?.(database.db, now);
    discards.queue_full += 2;
    expect(read("svc_pipeline_runs_24h")).toContainEqual({
      labels: { status: "failed" },
      value: 1,
    });
    expect(read("svc_pipeline_workflows_failing")).toEqual([{ labels: {}, value: 1 }]);
    expect(read("svc_pipeline_triggers_discarded_total")).toEqual(
      ["queue_full", "overlap", "loop", "license", "owner"].map((reason) => ({
        labels: { reason },
        value: reason === "queue_full" ? 2 : 0,
      })),
    );
  });
});

describe("the alerts of runs", () => {
  const log = createLog("error", { write: () => undefined });
  const replica = (): AlertCheck =>
    createAlertCheck({
      ...{ db: database.db, clock: { now: () => now }, log },
      rules: () => workflowAlerts(database.db, SETTINGS),
      webhook: { wake: () => undefined },
    });
  const sent = async () =>
    (await database.db.select().from(outboxEvents).orderBy(outboxEvents.createdAt)).map(
      ({ kind, body }) => ({ kind, ...(body["details"] as Record<string, unknown>) }),
    );
  const setQueue = (workflowId: string, set: Partial<typeof workflowQueues.$inferInsert>) =>
    database.db.update(workflowQueues).set(set).where(sql`workflow_id = ${workflowId}`);

  test("pipeline_failed is sent once for each failed run, whatever checks again, also after a restart", async () => {
    const id = await workflow("invoices");
    const error = { step: "read", code: "not_found", message: "There is no such folder." };
    const failed = await run(id, "failed", MINUTE_MS, { failedStep: "read", error });
    await run(id, "completed", MINUTE_MS);
    await run(id, "stopped", MINUTE_MS);
    const check = replica();
    await check.run();
    const alert = {
      ...{ kind: "pipeline_failed", run_id: failed, workflow_id: id, workflow: "invoices" },
      ...{ failed_step: "read", code: "not_found", at: new Date(now).toISOString() },
    };
    expect(await sent()).toEqual([alert]);
    now += 2 * HOUR_MS;
    await check.run();
    await replica().run();
    expect(await sent()).toEqual([alert]);
    const [event] = await database.db.select().from(outboxEvents);
    expect(event?.body["text"]).toContain(
      "A run of workflow 'invoices' failed at step 'read': There is no such folder.",
    );
  });

  test("pipeline_failed of more runs than one check sends is sent by the next ones", async () => {
    const id = await workflow("many");
    for (let index = 0; index < 130; index += 1) await run(id, "failed", index + 1);
    const check = replica();
    await check.run();
    expect(await sent()).toHaveLength(100);
    await check.run();
    expect(new Set((await sent()).map((alert) => alert["run_id" as never])).size).toBe(130);
    const [count] = await database.db
      .select({ of: sql<number>`count(*)::int` })
      .from(alertSuppressions);
    expect(count?.of).toBe(130);
  });

  test("pipeline_consecutive_failures is sent once while it lasts, and again after a success", async () => {
    const id = await workflow("nightly", { consecutiveFailures: 2, failingSince: new Date(now) });
    const check = replica();
    await check.run();
    expect(await sent()).toEqual([]);
    for (const failures of [3, 4, 50]) {
      now += 2 * HOUR_MS;
      await setQueue(id, { consecutiveFailures: failures });
      await check.run();
    }
    expect(await sent()).toMatchObject([
      { kind: "pipeline_consecutive_failures", workflow_id: id, failures: 3 },
    ]);
    // A completed run resets it.
    await setQueue(id, { consecutiveFailures: 0, failingSince: null });
    await check.run();
    now += HOUR_MS;
    await setQueue(id, { consecutiveFailures: 3, failingSince: new Date(now) });
    await check.run();
    await replica().run();
    expect(await sent()).toHaveLength(2);
  });

  test("pipeline_queue_backlog is sent when a run waits for longer than 900 s, and once an hour", async () => {
    const id = await workflow("slow");
    await run(id, "running", 10_000_000);
    await run(id, "queued", 899_000);
    await run(id, "queued", 10_000);
    const check = replica();
    await check.run();
    expect(await sent()).toEqual([]);
    now += 1_001;
    await check.run();
    expect(await sent()).toMatchObject([
      {
        ...{ kind: "pipeline_queue_backlog", waiting: 1, oldest_age_seconds: 900 },
        ...{ limit_seconds: 900, workflows: { [id]: 1 } },
      },
    ]);
    now += HOUR_MS - 1;
    await check.run();
    expect(await sent()).toHaveLength(1);
    now += 1;
    await check.run();
    expect(await sent()).toMatchObject([{}, { waiting: 2 }]);
  });
});
