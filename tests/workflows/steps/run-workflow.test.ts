import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { workflows } from "../../../src/db/tables/workflows.ts";
import { createChildRuns } from "../../../src/workflows/runs/children/create-child-runs.ts";
import { createRunWaits } from "../../../src/workflows/runs/children/run-waits.ts";
import { openRuns } from "../../../src/workflows/runs/open-runs.ts";
import { runWorkflowStep } from "../../../src/workflows/steps/run-workflow.ts";
import type { CheckContext, StepKind } from "../../../src/workflows/steps/step-kind.ts";
import type { WorkflowStore } from "../../../src/workflows/workflow-store.ts";
import { administrator } from "../../support/stages/access/test-callers.ts";
import {
  openTriggerStage,
  type Run,
  type TriggerStage,
} from "../../support/stages/trigger-stage.ts";
import { readPlainDefinition } from "../../support/workflows/plain-definition.ts";
import { runStep, type StepCase } from "../../support/workflows/step-stage.ts";

const ROWS = [{ a: 1 }, { a: 2 }];
const WAIT = { timeout: 30_000, interval: 10 };

let stage: TriggerStage;
let kind: StepKind;
const waits = createRunWaits();

beforeAll(async () => {
  stage = await openTriggerStage();
  const { database } = stage;
  kind = runWorkflowStep({ database, childRuns: createChildRuns(() => stage.store, waits) });
});
beforeEach(() => stage.database.db.delete(workflows));
afterAll(() => stage.close());

/** The step in a run of a workflow of `admin`. */
function run(workflow: string, { run: more, ...given }: StepCase = {}, wait?: boolean) {
  const parent = { id: "run_0000parent", workflowId: "wf_parent", ownerId: "usr_admin", ...more };
  const settings = { workflow, ...(wait !== undefined && { wait }) };
  return runStep(kind, { settings, rows: ROWS, run: parent, stepId: "call", ...given });
}

async function childOf(workflowId: string): Promise<Run> {
  return vi.waitFor(async () => {
    const [child] = await stage.runs(workflowId);
    if (child === undefined) throw new Error("no run yet");
    return child;
  }, WAIT);
}

describe("run_workflow", () => {
  it("starts one run with all rows, waits for its end, and passes the rows on", async () => {
    const id = await stage.addWorkflow({});
    const running = run(id, { run: { chain: ["wf_first"] } });
    const child = await childOf(id);
    expect(child).toMatchObject({
      rowsReceived: 2,
      chain: ["wf_first", "wf_parent"],
      trigger: { kind: "step", run_id: "run_0000parent", workflow_id: "wf_parent" },
    });
    expect(await stage.rows(child)).toEqual(ROWS);
    await stage.end(child);
    expect((await running).outputs).toEqual({
      main: ROWS,
      run: [{ runId: child.id, workflow: id, status: "completed" }],
    });
  });

  it("starts the same run once, however often the step is repeated", async () => {
    const id = await stage.addWorkflow({});
    const [first] = (await run(id, {}, false)).outputs["run"] ?? [];
    const [second] = (await run(id, { attempt: 2 }, false)).outputs["run"] ?? [];
    expect(first).toEqual({ runId: (await childOf(id)).id, workflow: id, status: "started" });
    expect(second).toEqual(first);
    expect(await stage.runs(id)).toHaveLength(1);
  });

  it("fails with the run that it waits for, and is not tried again", async () => {
    const id = await stage.addWorkflow({});
    const running = run(id);
    const error = { step: "s", code: "c", message: "it broke" };
    await stage.end(await childOf(id), { status: "failed", error });
    await expect(running).rejects.toMatchObject({
      ...{ name: "StepFailure", code: "child_run_failed", isRetryable: false },
      message: expect.stringContaining("is failed"),
    });
  });

  it("stops waiting when its own run is stopped", async () => {
    const id = await stage.addWorkflow({});
    const stopping = new AbortController();
    const running = run(id, { signal: stopping.signal });
    await childOf(id);
    stopping.abort(new Error("stopped"));
    await expect(running).rejects.toThrow("stopped");
    expect((await stage.runs(id))[0]?.status).toBe("running");
    expect(waits.count()).toBe(0);
  });

  it("refuses a workflow that waits for itself through a chain, one that is hidden, disabled or full", async () => {
    const id = await stage.addWorkflow({ owner: "other" });
    await expect(run(id, { run: { chain: [id] } })).rejects.toMatchObject({ code: "loop" });
    expect(await stage.discarded(id)).toEqual({ loop: 1 });
    const hidden = run(id, { run: { ownerId: "usr_owner" } });
    await expect(hidden).rejects.toMatchObject({ code: "workflow_not_found" });
    await stage.change(id, { enabled: false });
    await expect(run(id)).rejects.toMatchObject({ code: "workflow_disabled" });
    expect(await stage.runs(id)).toEqual([]);
  });

  it("refuses more rows than a run can receive", async () => {
    const id = await stage.addWorkflow({});
    const rows = Array.from({ length: 100_001 }, () => ({}));
    await expect(run(id, { rows })).rejects.toMatchObject({ code: "too_many_rows" });
  });

  it("only says what it would do in a test of the step", async () => {
    const id = await stage.addWorkflow({});
    const { told, outputs } = await run(id, { isTest: true });
    expect(told).toEqual([`would start a run of ${id} with 2 rows`]);
    expect(outputs.main).toEqual(ROWS);
    expect(await stage.runs(id)).toEqual([]);
  });

  it("leaves its place to the run that it waits for: parents on every place do not block their children", async () => {
    const pairs: (readonly [string, string])[] = [];
    for (let count = 0; count < 4; count += 1) {
      pairs.push([await stage.addWorkflow({}), await stage.addWorkflow({})]);
    }
    const childByParent = new Map(pairs);
    // Two places for four parents and four children, which begin after all parents have.
    const settings = { ...stage.store.settings, WORKFLOW_CONCURRENCY: 2 };
    const store: WorkflowStore = { ...stage.store, settings, clock: { now: () => Date.now() } };
    const runs = openRuns(store);
    const childRuns = createChildRuns(() => ({ ...store, wakeRuns: runs.wake }), runs.waits);
    const step = runWorkflowStep({ database: stage.database, childRuns });
    for (const [parent] of pairs) await stage.start(parent);
    runs.start(async (claimed, { signal }) => {
      const workflow = childByParent.get(claimed.workflowId);
      if (workflow !== undefined) {
        await runStep(step, { settings: { workflow }, rows: ROWS, run: claimed, signal });
      }
      return { status: "completed" };
    }, readPlainDefinition);
    await vi.waitFor(async () => {
      const all = await Promise.all(pairs.flat().map((id) => stage.runs(id)));
      expect(all.flat().map(({ status }) => status)).toEqual(Array(8).fill("completed"));
    }, WAIT);
    await runs.close?.(1_000);
  });
});

describe("the check of run_workflow", () => {
  const check = (workflow: string, workflowId: string | null, wait = true) =>
    kind.check?.({ workflow, wait }, {
      ...{ owner: { ...administrator, ownerId: "usr_other", role: "user" }, workflowId },
    } as unknown as CheckContext);
  const waitFor = (workflow: string, more: object = {}) => ({
    steps: [{ id: "call", kind: "run_workflow", workflow, ...more }],
  });

  it("names a workflow that does not exist for the owner, and the workflow itself", async () => {
    const mine = await stage.addWorkflow({ owner: "other" });
    const foreign = await stage.addWorkflow({ owner: "owner" });
    const shared = await stage.addWorkflow({ owner: "owner", visibility: "everyone" });
    expect(await check(foreign, mine)).toMatchObject([{ field: "workflow" }]);
    expect(await check("wf_none", mine)).toMatchObject([{ field: "workflow" }]);
    expect(await check(mine, mine)).toMatchObject([{ message: expect.stringContaining("itself") }]);
    expect(await check(shared, mine)).toEqual([]);
    expect(await check(shared, null)).toEqual([]);
  });

  it("names a circle of workflows that wait for each other", async () => {
    const first = await stage.addWorkflow({ owner: "other" });
    const third = await stage.addWorkflow({ owner: "other", ...waitFor(first) });
    const second = await stage.addWorkflow({ owner: "other", ...waitFor(third, { wait: true }) });
    expect(await check(second, first)).toMatchObject([
      { field: "workflow", message: expect.stringContaining("wait for ever") },
    ]);
    expect(await check(second, first, false)).toEqual([]);
    await stage.change(third, waitFor(first, { wait: false }));
    expect(await check(second, first)).toEqual([]);
  });
});
