import { eq, sql } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { outboxEvents } from "../../../src/db/tables/outbox.ts";
import { users } from "../../../src/db/tables/users.ts";
import { workflowRows, workflows } from "../../../src/db/tables/workflows.ts";
import { unpackRows } from "../../../src/workflows/rows/pack-rows.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { MAIN, readChunks, TRIGGER_STEP } from "../../../src/workflows/rows/row-store.ts";
import {
  acceptRunNow,
  acceptRuns,
  chunksOf,
} from "../../../src/workflows/runs/accept/accept-runs.ts";
import type { Acceptance, RunRequest } from "../../../src/workflows/runs/accept/acceptance.ts";
import { stopRun, stopWorkflow } from "../../../src/workflows/runs/control/stop-runs.ts";
import { dayOfRun } from "../../../src/workflows/runs/run-id.ts";
import { openTestDatabase } from "../../support/servers/databases/test-database.ts";
import {
  activeOf,
  insertUser,
  insertWorkflow,
  openRunStage,
  queueOf,
  type RunStage,
  runsOf,
} from "../../support/workflows/run-stage.ts";

const NOON = Date.UTC(2026, 10, 23, 12);
const HOUR_MS = 3_600_000;

let database: Database;
let stage: RunStage;
let owner: string;
let workflow: string;
let now = NOON;
let isLicensed = true;

beforeAll(async () => {
  database = await openTestDatabase();
  owner = await insertUser(database);
  stage = openRunStage(database, {
    now: () => now,
    isLicensed: () => isLicensed,
    environment: { PIPELINE_MAX_QUEUED_RUNS: "2" },
  });
});
beforeEach(async () => {
  now = NOON;
  isLicensed = true;
  workflow = await insertWorkflow(database, { ownerId: owner });
});
afterAll(() => database.close());

type Asked = Partial<Omit<RunRequest, "rows">> & { readonly rows?: readonly Row[] };
const request = async ({ rows = [{}], ...more }: Asked = {}): Promise<RunRequest> => ({
  trigger: { kind: "webhook" },
  triggerKey: "webhook",
  ...more,
  rows: await chunksOf(rows),
});
const accept = async (asked?: Asked) => acceptRunNow(stage.store, workflow, await request(asked));
const idOf = (acceptance: Acceptance) => {
  if (!("runId" in acceptance) || acceptance.runId === null) throw new Error("no run");
  return acceptance.runId;
};
const inTransaction = <Result>(work: Parameters<typeof withTransaction<Result>>[1]) =>
  withTransaction(database.db, work);
const jobsOf = (runId: string) =>
  database.db.select().from(outboxEvents).where(sql`body ->> 'run_id' = ${runId}`);
async function rowsOf(runId: string): Promise<Row[]> {
  const place = { day: dayOfRun(runId) ?? "", runId, stepId: TRIGGER_STEP, output: MAIN };
  const rows: Row[] = [];
  for await (const chunk of readChunks((work) => work(database.db), place)) {
    rows.push(...(await unpackRows(chunk)));
  }
  return rows;
}

describe("a trigger of a workflow without an active run", () => {
  test("makes a run running, with its job and its rows", async () => {
    const accepted = await accept({ rows: [{ a: 1 }, { a: 2 }], chain: ["wf_before"] });
    expect(accepted).toMatchObject({ kind: "accepted", status: "running", rowsReceived: 2 });
    const [run] = await runsOf(database, workflow);
    expect(run).toMatchObject({
      ...{ id: idOf(accepted), day: "2026-11-23", status: "running", number: 1, version: 1 },
      ...{ rowsReceived: 2, chain: ["wf_before"], ownerId: owner, attempts: 0, startedAt: null },
      ...{ trigger: { kind: "webhook" }, workflowName: "a workflow", queuedAt: new Date(NOON) },
    });
    const [active] = await activeOf(database, workflow);
    const [job] = await jobsOf(idOf(accepted));
    expect(active).toMatchObject({ status: "running", jobId: job?.id, timeoutSeconds: 3_600 });
    expect(job).toMatchObject({ sink: "workflow_run", deliveredAt: null, deadAt: null });
    expect(await rowsOf(idOf(accepted))).toEqual([{ a: 1 }, { a: 2 }]);
  });

  test("with no rows at all is accepted too", async () => {
    const accepted = await accept({ rows: [] });
    expect(accepted).toMatchObject({ kind: "accepted", rowsReceived: 0 });
    expect(await rowsOf(idOf(accepted))).toEqual([]);
  });

  test("leaves nothing when the transaction of its cause fails", async () => {
    const cause = new Error("the cause failed");
    const asked = await request({ fact: { fact: "one" } });
    await expect(
      inTransaction(async (transaction) => {
        await acceptRuns(transaction, stage.store, workflow, [asked]);
        throw cause;
      }),
    ).rejects.toBe(cause);
    expect(await runsOf(database, workflow)).toEqual([]);
    expect(await queueOf(database, workflow)).toMatchObject({ lastNumber: 0, queued: 0 });
    expect((await accept({ fact: { fact: "one" } })).kind).toBe("accepted");
  });
});

describe("a trigger of a workflow with an active run", () => {
  test("is queued without a job, and discarded when the queue is full", async () => {
    const kinds = [];
    for (let index = 0; index < 5; index += 1) kinds.push(await accept());
    expect(kinds.map((each) => ("status" in each ? each.status : each.kind))).toEqual([
      ...["running", "queued", "queued", "discarded", "discarded"],
    ]);
    expect(kinds[3]).toEqual({ kind: "discarded", reason: "queue_full" });
    const active = await activeOf(database, workflow);
    expect(active.map(({ status, jobId }) => [status, jobId !== null])).toEqual([
      ["running", true],
      ["queued", false],
      ["queued", false],
    ]);
    expect(await queueOf(database, workflow)).toMatchObject({
      ...{ lastNumber: 3, queued: 2, discarded: { queue_full: 2 }, discardedAt: new Date(NOON) },
    });
    expect(await runsOf(database, workflow)).toHaveLength(3);
  });

  test("is decided in the order in which it came when many come in one transaction", async () => {
    const asked = await Promise.all(
      [1, 2, 3, 4].map((fact) => request({ rows: [{ fact }], fact: { fact: String(fact) } })),
    );
    const found = await inTransaction((transaction) =>
      acceptRuns(transaction, stage.store, workflow, asked),
    );
    expect(found.map((each) => ("status" in each ? each.status : each.kind))).toEqual([
      ...["running", "queued", "queued", "discarded"],
    ]);
    const runs = await runsOf(database, workflow);
    expect(runs.map(({ id }) => id)).toEqual(found.slice(0, 3).map(idOf));
    expect(await rowsOf(idOf(found[2] as Acceptance))).toEqual([{ fact: 3 }]);
    // What was refused may come again.
    await inTransaction((transaction) => stopWorkflow(transaction, workflow, now));
    expect((await accept({ fact: { fact: "4" } })).kind).toBe("accepted");
    expect((await accept({ fact: { fact: "3" } })).kind).toBe("repeated");
  });

  test.each(["running", "queued"])(
    "by hand is refused while one is %s, without a trace",
    async (status) => {
      const first = await accept();
      if (status === "queued") {
        await accept();
        // The running one is stopped, and the queued one promoted: still active.
        await inTransaction((transaction) => stopRun(transaction, idOf(first), now));
      }
      const before = [await runsOf(database, workflow), await queueOf(database, workflow)];
      const byHand = {
        triggerKey: "manual",
        trigger: { kind: "manual" },
        onlyWhenFree: true,
      } as const;
      await expect(accept({ ...byHand, fact: { fact: "x" } })).rejects.toMatchObject({
        code: "run_active",
        status: 409,
      });
      expect([await runsOf(database, workflow), await queueOf(database, workflow)]).toEqual(before);
      await inTransaction((transaction) => stopWorkflow(transaction, workflow, now));
      expect((await accept({ ...byHand, fact: { fact: "x" } })).kind).toBe("accepted");
    },
  );
});

describe("what may not start", () => {
  test.each<[string, string, () => Promise<unknown>, Asked]>([
    ["license", "without a license", async () => (isLicensed = false), {}],
    ["owner", "of a disabled owner", () => setOwner("disabled"), {}],
    ["owner", "without an owner", () => set({ ownerId: null }), {}],
  ])("is discarded as %s: a workflow %s", async (reason, _, change, asked) => {
    await change();
    expect(await accept(asked)).toEqual({ kind: "discarded", reason });
    expect((await queueOf(database, workflow)).discarded).toEqual({ [reason]: 1 });
    expect(await runsOf(database, workflow)).toEqual([]);
    await setOwner("active");
  });

  test("is not counted when the workflow is disabled or unknown", async () => {
    await set({ enabled: false });
    expect(await accept()).toEqual({ kind: "unavailable" });
    expect((await queueOf(database, workflow)).discarded).toEqual({});
    expect(await accept({ evenDisabled: true })).toMatchObject({ kind: "accepted" });
    expect(await acceptRunNow(stage.store, "wf_unknown", await request())).toEqual({
      kind: "unavailable",
    });
  });

  test("is discarded as loop when its chain has the workflow, unless it may, ten deep", async () => {
    const around = [workflow, "wf_b"];
    expect(await accept({ chain: around })).toEqual({ kind: "discarded", reason: "loop" });
    expect(await accept({ chain: ["wf_b"] })).toMatchObject({ kind: "accepted" });
    const nine = Array.from({ length: 9 }, () => workflow);
    expect(await accept({ chain: nine, allowLoop: true })).toMatchObject({ kind: "accepted" });
    expect(await accept({ chain: [...nine, "wf_b"], allowLoop: true })).toMatchObject({
      reason: "loop",
    });
  });

  const set = (fields: Partial<typeof workflows.$inferInsert>) =>
    database.db.update(workflows).set(fields).where(eq(workflows.id, workflow));
  const setOwner = (state: "active" | "disabled") =>
    database.db.update(users).set({ state }).where(eq(users.id, owner));
});

describe("a fact", () => {
  test("starts one run in 24 hours, also over midnight, and another one after them", async () => {
    now = NOON + 11 * HOUR_MS;
    const first = await accept({ fact: { fact: "tick", bodyHash: "abc" } });
    now += 23 * HOUR_MS;
    expect(await accept({ fact: { fact: "tick", bodyHash: "other" } })).toEqual({
      kind: "repeated",
      runId: idOf(first),
      bodyHash: "abc",
      answer: {
        ...{ runId: idOf(first), status: "running", pipelineId: workflow, rowsReceived: 1 },
      },
    });
    now += HOUR_MS + 1;
    expect(await accept({ fact: { fact: "tick" } })).toMatchObject({ kind: "accepted" });
    expect(await runsOf(database, workflow)).toHaveLength(2);
  });

  test("is another one under another trigger and in another workflow", async () => {
    await accept({ fact: { fact: "same" } });
    const other = await accept({ triggerKey: "schedule", fact: { fact: "same" } });
    expect(other.kind).toBe("accepted");
    workflow = await insertWorkflow(database, { ownerId: owner });
    expect((await accept({ fact: { fact: "same" } })).kind).toBe("accepted");
  });

  test("of a discarded tick counts as seen, once", async () => {
    for (let index = 0; index < 3; index += 1) await accept();
    const tick = { triggerKey: "daily", fact: { fact: "12:00", remembersDiscard: true } };
    expect(await accept(tick)).toEqual({ kind: "discarded", reason: "queue_full" });
    expect(await accept(tick)).toMatchObject({ kind: "repeated", runId: null, answer: null });
    expect((await queueOf(database, workflow)).discarded).toEqual({ queue_full: 1 });
  });
});

describe("coalescing", () => {
  test("adds rows to the run of the same trigger that waits, up to 10,000", async () => {
    await accept();
    const joining = { triggerKey: "files", coalesce: true } as const;
    const first = await accept({ ...joining, rows: [{ n: 1 }], chain: ["wf_a"] });
    const second = await accept({ ...joining, rows: [{ n: 2 }, { n: 3 }], chain: ["wf_b"] });
    expect(second).toEqual({
      ...{ kind: "joined", status: "queued", runId: idOf(first), rowsReceived: 3 },
    });
    expect(await rowsOf(idOf(first))).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    const [, waiting] = await runsOf(database, workflow);
    expect(waiting).toMatchObject({ rowsReceived: 3, chain: ["wf_a", "wf_b"] });
    const many = Array.from({ length: 9_998 }, (_, n) => ({ n }));
    const beyond = await accept({ ...joining, rows: many });
    expect(beyond).toMatchObject({ kind: "accepted", rowsReceived: 9_998 });
    expect(idOf(beyond)).not.toBe(idOf(first));
  });

  test("in one transaction joins the run that it has just queued, and knows the fact afterwards", async () => {
    await accept();
    const asked = await Promise.all(
      [1, 2].map((n) =>
        request({ triggerKey: "files", coalesce: true, rows: [{ n }], fact: { fact: `f${n}` } }),
      ),
    );
    const [first, second] = await inTransaction((transaction) =>
      acceptRuns(transaction, stage.store, workflow, asked),
    );
    expect([first?.kind, second?.kind]).toEqual(["accepted", "joined"]);
    expect((await runsOf(database, workflow))[1]).toMatchObject({ rowsReceived: 2 });
    const again = await accept({ triggerKey: "files", coalesce: true, fact: { fact: "f2" } });
    expect(again).toMatchObject({ kind: "repeated", runId: idOf(first as Acceptance) });
  });

  test("never adds to a run that has begun, nor to that of another trigger", async () => {
    await accept({ triggerKey: "files" });
    expect(await accept({ triggerKey: "files", coalesce: true })).toMatchObject({
      kind: "accepted",
    });
    expect(await accept({ triggerKey: "other", coalesce: true })).toMatchObject({
      kind: "accepted",
    });
  });

  test("never adds to a run that was accepted for an earlier owner", async () => {
    await accept();
    const joining = { triggerKey: "files", coalesce: true } as const;
    const first = await accept(joining);
    const ownerId = await insertUser(database);
    await database.db.update(workflows).set({ ownerId }).where(eq(workflows.id, workflow));
    const second = await accept(joining);
    expect(second).toMatchObject({ kind: "accepted" });
    expect(await accept(joining)).toMatchObject({ kind: "joined", runId: idOf(second) });
    expect(idOf(first)).not.toBe(idOf(second));
  });
});

test("of a trigger that may have one run waiting a second one is an overlap", async () => {
  const tick = { triggerKey: "daily", atMostOneWaiting: true } as const;
  const kinds = [await accept(tick), await accept(tick), await accept(tick)];
  expect(kinds.map((each) => ("reason" in each ? each.reason : each.kind))).toEqual([
    ...["accepted", "accepted", "overlap"],
  ]);
});

describe("stopping", () => {
  test("a run alone promotes the next, a queued one nothing, and an ended one changes nothing", async () => {
    const [first, second, third] = [await accept(), await accept(), await accept()].map(idOf);
    const stop = (id = "") => inTransaction((transaction) => stopRun(transaction, id, now));
    expect(await stop(second)).toEqual({ runIds: [second], isNextRunning: false });
    expect(await queueOf(database, workflow)).toMatchObject({ queued: 1 });
    now += 1_000;
    expect(await stop(first)).toEqual({ runIds: [first], isNextRunning: true });
    const runs = await runsOf(database, workflow);
    expect(runs.map(({ status }) => status)).toEqual(["stopped", "stopped", "running"]);
    expect(runs[0]).toMatchObject({ endedAt: new Date(now), error: null });
    expect(await queueOf(database, workflow)).toMatchObject({ queued: 0, consecutiveFailures: 0 });
    const [active] = await activeOf(database, workflow);
    expect(active).toMatchObject({ runId: third, status: "running" });
    expect((await jobsOf(first ?? ""))[0]?.deadAt).toEqual(new Date(now));
    expect((await jobsOf(third ?? ""))[0]).toMatchObject({ id: active?.jobId, deadAt: null });
    expect(await stop(first)).toEqual({ runIds: [], isNextRunning: false });
    expect(await stop("run_unknown")).toEqual({ runIds: [], isNextRunning: false });
  });

  test("a workflow stops the running and the queued ones together", async () => {
    const ids = [await accept(), await accept(), await accept()].map(idOf);
    const stopped = await inTransaction((transaction) => stopWorkflow(transaction, workflow, now));
    expect(stopped.isNextRunning).toBe(false);
    expect([...stopped.runIds].sort()).toEqual([...ids].sort());
    const runs = await runsOf(database, workflow);
    expect(runs.map(({ status }) => status)).toEqual(["stopped", "stopped", "stopped"]);
    expect(await activeOf(database, workflow)).toEqual([]);
    expect(await queueOf(database, workflow)).toMatchObject({ queued: 0, lastNumber: 3 });
    expect(await accept()).toMatchObject({ status: "running" });
  });
});

test("the numbers of rows and of chunks agree with what is stored", async () => {
  const rows = Array.from({ length: 2_500 }, (_, n) => ({ n }));
  const runId = idOf(await accept({ rows }));
  const chunks = await database.db
    .select({ chunk: workflowRows.chunk, rows: workflowRows.rows })
    .from(workflowRows)
    .where(eq(workflowRows.runId, runId))
    .orderBy(workflowRows.chunk);
  expect(chunks).toEqual([
    { chunk: 0, rows: 1_000 },
    { chunk: 1, rows: 1_000 },
    { chunk: 2, rows: 500 },
  ]);
});
