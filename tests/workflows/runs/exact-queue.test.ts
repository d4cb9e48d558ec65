import { eq } from "drizzle-orm";
import { afterEach, describe, expect, test, vi } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { workflowRuns } from "../../../src/db/tables/workflows.ts";
import { combineAcceptances } from "../../../src/workflows/intake/combine-acceptances.ts";
import { acceptRunNow, chunksOf } from "../../../src/workflows/runs/accept/accept-runs.ts";
import type { Acceptance } from "../../../src/workflows/runs/accept/acceptance.ts";
import { stopRun, stopWorkflow } from "../../../src/workflows/runs/control/stop-runs.ts";
import { createRandom } from "../../support/faults/random.ts";
import { trialSize } from "../../support/faults/trial-size.ts";
import {
  openEmbeddedInMemory,
  openTestDatabase,
} from "../../support/servers/databases/test-database.ts";
import {
  activeOf,
  createGate,
  insertUser,
  insertWorkflow,
  openRunStage,
  queueOf,
  type RunStage,
  runsOf,
} from "../../support/workflows/run-stage.ts";

const WAIT = { timeout: 90_000, interval: 20 };
vi.setConfig({ testTimeout: trialSize(120_000, 1_200_000) });
const open: RunStage[] = [];
let database: Database | undefined;

afterEach(async () => {
  await Promise.all(open.splice(0).map((stage) => stage.close()));
  await database?.close();
  database = undefined;
});

interface Trial {
  readonly triggers: number;
  readonly workflows: number;
  readonly cap: number;
}
/** 400 triggers on 5 workflows with 50 places: 5 running, 250 queued, 145 refused. */
const WHOLE: Trial = { triggers: 400, workflows: 5, cap: 50 };
const SMALL: Trial = { triggers: 80, workflows: 5, cap: 8 };

describe("many triggers at once", () => {
  test.each<[string, () => Promise<Database>, number, Trial]>([
    ["one replica", openTestDatabase, 1, trialSize(SMALL, WHOLE)],
    ["three replicas", openTestDatabase, 3, WHOLE],
    ["the embedded database", openEmbeddedInMemory, 1, trialSize(SMALL, WHOLE)],
  ])(
    "on %s are accepted up to the places there are, and run one by one in the order of their commits",
    async (_, openOne, replicas, trial) => {
      database = await openOne();
      const { triggers, workflows, cap } = trial;
      const gate = createGate();
      const ownerId = await insertUser(database);
      const ids: string[] = [];
      for (let index = 0; index < workflows; index += 1) {
        ids.push(await insertWorkflow(database, { ownerId }));
      }
      const intakes = Array.from({ length: replicas }, () => {
        const stage = openRunStage(database as Database, {
          environment: { PIPELINE_MAX_QUEUED_RUNS: String(cap), RUN_LEASE_MS: "28000" },
        });
        open.push(stage);
        stage.work(gate.execute);
        return combineAcceptances(stage.store);
      });
      const rows = await chunksOf([{ a: 1 }]);
      const request = { trigger: { kind: "webhook" }, triggerKey: "webhook", rows } as const;
      const answers = await Promise.all(
        Array.from({ length: triggers }, (_, index) => {
          const intake = intakes[index % replicas];
          return intake?.accept(ids[index % workflows] ?? "", request) as Promise<Acceptance>;
        }),
      );
      const counts = { running: 0, queued: 0, queue_full: 0 };
      for (const answer of answers) {
        if (answer.kind === "accepted") counts[answer.status] += 1;
        else if (answer.kind === "discarded" && answer.reason === "queue_full")
          counts.queue_full += 1;
      }
      const accepted = workflows * (cap + 1);
      expect(counts).toEqual({
        ...{ running: workflows, queued: workflows * cap, queue_full: triggers - accepted },
      });
      await gate.beginnings(workflows);
      expect(gate.begun).toHaveLength(workflows);
      gate.openAll();
      await gate.beginnings(accepted);
      for (const id of ids) {
        const runs = await vi.waitFor(async () => {
          const found = await runsOf(database as Database, id);
          expect(found.every(({ status }) => status === "completed")).toBe(true);
          return found;
        }, WAIT);
        expect(runs.map(({ number }) => number)).toEqual(
          Array.from({ length: cap + 1 }, (_, index) => index + 1),
        );
        const own = new Set(runs.map((run) => run.id));
        expect(gate.begun.filter((begun) => own.has(begun))).toEqual(runs.map((run) => run.id));
        expect(await queueOf(database, id)).toMatchObject({ queued: 0, lastNumber: cap + 1 });
      }
      expect(gate.mostAtOnce()).toBe(1);
      const known = new Set(
        answers.flatMap((each) => (each.kind === "accepted" ? [each.runId] : [])),
      );
      expect(new Set(gate.begun)).toEqual(known);
    },
  );
});

test("a stop that meets the end of a run is final, and nothing starts after it", async () => {
  database = await openTestDatabase();
  const ownerId = await insertUser(database);
  const stage = openRunStage(database);
  open.push(stage);
  const random = createRandom(15);
  const passes = new Map<string, () => void>();
  const begun: string[] = [];
  stage.work(async ({ id }) => {
    begun.push(id);
    await new Promise<void>((resolve) => passes.set(id, resolve));
    return { status: "completed" };
  });
  const start = async (workflow: string) => {
    const request = { trigger: { kind: "webhook" }, triggerKey: "webhook", rows: [] } as const;
    const accepted = await acceptRunNow(stage.store, workflow, request);
    if (accepted.kind !== "accepted") throw new Error(accepted.kind);
    return accepted.runId;
  };
  const { db } = database;
  for (let race = 0; race < trialSize(15, 500); race += 1) {
    const workflow = await insertWorkflow(database, { ownerId });
    const [first, second] = [await start(workflow), await start(workflow)];
    await vi.waitFor(() => expect(passes.has(first)).toBe(true), WAIT);
    const stopsAll = race % 2 === 0;
    passes.get(first)?.();
    await new Promise((resolve) => setTimeout(resolve, 8 * random()));
    const stopped = await withTransaction(db, (transaction) =>
      stopsAll
        ? stopWorkflow(transaction, workflow, Date.now())
        : stopRun(transaction, first, Date.now()),
    );
    stage.runs.wake();
    const [run] = await vi.waitFor(async () => {
      const found = await db.select().from(workflowRuns).where(eq(workflowRuns.id, first));
      expect(found[0]?.endedAt).not.toBeNull();
      return found;
    }, WAIT);
    expect(run?.status).toBe(stopped.runIds.includes(first) ? "stopped" : "completed");
    if (stopsAll) {
      const [, next] = await runsOf(database, workflow);
      expect(next?.status).toBe("stopped");
      expect(await activeOf(database, workflow)).toEqual([]);
    } else {
      await vi.waitFor(() => expect(begun).toContain(second), WAIT);
      await withTransaction(db, (transaction) => stopWorkflow(transaction, workflow, Date.now()));
    }
    passes.get(second)?.();
  }
  const statuses = await db.select({ status: workflowRuns.status }).from(workflowRuns);
  expect(statuses.filter(({ status }) => status === "running" || status === "queued")).toEqual([]);
});
