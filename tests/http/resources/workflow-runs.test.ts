import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { workflowQueues, workflowRuns, workflowSteps } from "../../../src/db/tables/workflows.ts";
import { packRows } from "../../../src/workflows/rows/pack-rows.ts";
import type { Row, RowChunk } from "../../../src/workflows/rows/row.ts";
import { insertChunks } from "../../../src/workflows/rows/row-store.ts";
import { newRunId, utcDay } from "../../../src/workflows/runs/run-id.ts";
import {
  openWorkflowStage,
  PIPELINE,
  type WorkflowPerson,
  type WorkflowStage,
} from "../../support/workflows/workflow-stage.ts";

const RUNS = `${PIPELINE}/runs`;
const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 10, 20, 12);

let stage: WorkflowStage;
let admin: WorkflowPerson;
let owner: WorkflowPerson;
let other: WorkflowPerson;
let workflowId: string;
let number = 0;

beforeAll(async () => {
  stage = await openWorkflowStage();
  ({ admin, owner, other } = stage);
  workflowId = await createWorkflow(owner);
});
afterAll(() => stage?.served.close());

async function createWorkflow(person: WorkflowPerson): Promise<string> {
  const steps = [{ id: "orders", kind: "tiny_source", rows: [{ n: 1 }] }];
  const body = { name: "orders", steps };
  return (await person.call({ method: "POST", path: `${PIPELINE}/workflows`, body })).body.id;
}

/** Stores a run as if it had been accepted at this time. */
async function storeRun(
  at: number,
  more: Partial<typeof workflowRuns.$inferInsert> = {},
): Promise<string> {
  const id = newRunId(at);
  number += 1;
  await stage.records.database.ask((db) =>
    db.insert(workflowRuns).values({
      ...{ id, day: utcDay(at), workflowId, workflowName: "orders", ownerId: owner.id },
      ...{ version: 1, status: "completed", number, trigger: { kind: "webhook" } },
      ...{ rowsReceived: 2, queuedAt: new Date(at) },
      ...more,
    }),
  );
  return id;
}

async function storeRows(runId: string, stepId: string, output: string, rows: readonly Row[]) {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows(rows)) chunks.push(chunk);
  const place = { day: utcDay(NOON), runId, stepId, output };
  await stage.records.database.ask((db) => insertChunks(db, place, chunks, 0));
}

const idsOf = ({ body }: { readonly body: { data: { runId: string }[] } }) =>
  body.data.map(({ runId }) => runId);

describe("A run that is started by hand", () => {
  it("gets one empty row unless rows are sent, and the place where it is followed", async () => {
    const id = await createWorkflow(owner);
    const path = `${PIPELINE}/workflows/${id}/runs`;
    const first = await owner.call({ method: "POST", path });
    expect(first.status).toBe(202);
    expect(first.body).toEqual({
      runId: expect.stringMatching(/^run_/),
      ...{ status: "running", pipelineId: id, rowsReceived: 1 },
    });
    expect(first.headers.get("location")).toBe(`${RUNS}/${first.body.runId}`);
    const again = await owner.call({ method: "POST", path });
    expect([again.status, again.body.error.code]).toEqual([409, "run_active"]);
    const stop = { method: "POST", path: `${RUNS}/${first.body.runId}/stop` };
    expect((await owner.call(stop)).body.status).toBe("stopped");
    expect((await owner.call(stop)).status).toBe(200);
    const rows = [{ a: 1 }, { b: [2] }];
    const second = await owner.call({ method: "POST", path, body: { rows } });
    expect(second.body.rowsReceived).toBe(2);
    const stored = `${RUNS}/${second.body.runId}/steps/$trigger/rows`;
    expect((await owner.call({ path: stored })).body).toEqual({
      ...{ object: "list", total: 2, data: rows },
    });
    const stopped = await owner.call({ method: "POST", path: `${PIPELINE}/workflows/${id}/stop` });
    expect(stopped.body).toEqual({ object: "workflow.stopped", stopped: 1 });
  });

  it("keeps integers beyond 2^53 as texts", async () => {
    const path = `${PIPELINE}/workflows/${await createWorkflow(owner)}/runs`;
    const body = '{"rows": [{"n": 9007199254740993, "t": "9007199254740993", "f": 0.5, "i": -7}]}';
    const { runId } = (await owner.call({ method: "POST", path, body })).body;
    const stored = await owner.call({ path: `${RUNS}/${runId}/steps/$trigger/rows` });
    expect(stored.body.data).toEqual([
      { n: "9007199254740993", t: "9007199254740993", f: 0.5, i: -7 },
    ]);
  });

  it("takes rows that nest as deep as the body of a webhook may, MAX_JSON_DEPTH", async () => {
    const path = `${PIPELINE}/workflows/${await createWorkflow(owner)}/runs`;
    const bodyOf = (levels: number) =>
      `{"rows":[{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}]}`;
    const refused = await owner.call({ method: "POST", path, body: bodyOf(129) });
    expect([refused.status, refused.body.error.code]).toEqual([400, "invalid_json"]);
    const { status, body } = await owner.call({ method: "POST", path, body: bodyOf(128) });
    expect([status, body.rowsReceived]).toEqual([202, 1]);
    const stored = await owner.call({ path: `${RUNS}/${body.runId}/steps/$trigger/rows` });
    expect(stored.body.data).toEqual(JSON.parse(bodyOf(128)).rows);
  });

  it("is refused with a wrong body, and nothing starts", async () => {
    const id = await createWorkflow(owner);
    const path = `${PIPELINE}/workflows/${id}/runs`;
    const post = (body: unknown) => owner.call({ method: "POST", path, body });
    expect((await post({ rows: {} })).body.error.param).toBe("rows");
    expect((await post({ rows: [{}, 1] })).body.error.param).toBe("rows[1]");
    expect((await post({ row: [] })).body.error.param).toBe("row");
    expect((await post([])).status).toBe(400);
    expect((await post({ rows: [{ a: "x".repeat(1024 * 1024) }] })).status).toBe(400);
    const many = Array.from({ length: 100_001 }, () => ({}));
    expect((await post({ rows: many })).status).toBe(413);
    expect(idsOf(await owner.call({ path: `${RUNS}?workflow=${id}` }))).toEqual([]);
  });

  it("of a disabled workflow is for those who may change it", async () => {
    const id = await createWorkflow(owner);
    const change = { enabled: false, visibility: "everyone" };
    await admin.call({ method: "PATCH", path: `${PIPELINE}/workflows/${id}`, body: change });
    const path = `${PIPELINE}/workflows/${id}/runs`;
    expect((await other.call({ method: "POST", path })).status).toBe(403);
    expect((await owner.call({ method: "POST", path })).status).toBe(202);
  });

  it("is repeated as a new run", async () => {
    const ended = { status: "failed", failedStep: "orders", endedAt: new Date(NOON) } as const;
    const id = await storeRun(NOON, ended);
    const call = { method: "POST", path: `${RUNS}/${id}/retry`, body: { from: "orders" } };
    const { status, body } = await owner.call(call);
    expect([status, body.pipelineId]).toEqual([202, workflowId]);
    expect((await owner.call({ path: `${RUNS}/${body.runId}` })).body).toMatchObject({
      retry_of: id,
      trigger: { kind: "retry", user_id: owner.id },
    });
    expect((await other.call(call)).status).toBe(404);
    await owner.call({ method: "POST", path: `${PIPELINE}/workflows/${workflowId}/stop` });
  });
});

describe("GET /api/pipeline/runs/{runId}", () => {
  it("tells that the rows of an ended run went with their day", async () => {
    const told = async (at: number, endedAt: Date | null) => {
      const id = await storeRun(at, { endedAt });
      const answer = await owner.call({ path: `${RUNS}/${id}` });
      const rows = await owner.call({ path: `${RUNS}/${id}/steps/$trigger/rows` });
      return [answer.body.rows_dropped, rows.status];
    };
    const now = Date.now();
    expect(await told(now, new Date(now))).toEqual([false, 200]);
    const old = now - 9 * DAY_MS;
    expect(await told(old, new Date(old))).toEqual([true, 404]);
    expect(await told(old, null)).toEqual([false, 200]);
  });

  it("shows the run with its steps", async () => {
    const at = new Date(NOON);
    const error = { step: "check", row: 2, code: "no_number", message: "n is no number." };
    const usage = { calls: 3, input_tokens: 40, output_tokens: 5 };
    const id = await storeRun(NOON, {
      ...{ status: "failed", failedStep: "check", error, usage, startedAt: at, endedAt: at },
      ...{ attempts: 2, retries: 1, chain: ["wf_first"] },
    });
    const outputs = [{ name: "main", rows: 2, bytes: 16 }];
    await stage.records.database.ask((db) =>
      db.insert(workflowSteps).values([
        {
          ...{ day: utcDay(NOON), runId: id, stepId: "check", position: 1, kind: "tiny_pick" },
          ...{ status: "failed", attempts: 1, rowsIn: 2, rowErrors: 1, error, startedAt: at },
        },
        {
          ...{ day: utcDay(NOON), runId: id, stepId: "orders", position: 0, kind: "tiny_source" },
          ...{ status: "completed", attempts: 1, rowsOut: 2, outputs, usage },
          ...{ startedAt: at, endedAt: at },
        },
        {
          ...{ day: utcDay(NOON), runId: id, stepId: "send", position: 2, kind: "tiny_sink" },
          ...{ status: "skipped", skippedBecause: "no rows came" },
        },
      ]),
    );
    const time = "2026-11-20T12:00:00.000Z";
    const step = { attempts: 1, rows_in: 0, rows_out: 0, row_errors: 0, outputs: [] };
    const none = { usage: null, error: null, skipped_because: null };
    expect((await owner.call({ path: `${RUNS}/${id}` })).body).toEqual({
      ...{ runId: id, pipelineId: workflowId, status: "failed", rowsReceived: 2 },
      ...{ workflow_name: "orders", version: 1, trigger: { kind: "webhook" } },
      ...{ chain: ["wf_first"], queued_at: time, started_at: time, ended_at: time },
      ...{ attempts: 2, retries: 1, failed_step: "check", error, broke_at: null, usage },
      ...{ retry_of: null, retry_from: null, rows_dropped: expect.any(Boolean) },
      steps: [
        {
          ...{ ...step, ...none, id: "orders", kind: "tiny_source", status: "completed" },
          ...{ rows_out: 2, outputs, usage, started_at: time, ended_at: time },
        },
        {
          ...{ ...step, ...none, id: "check", kind: "tiny_pick", status: "failed", rows_in: 2 },
          ...{ row_errors: 1, error, started_at: time, ended_at: null },
        },
        {
          ...{ ...step, ...none, id: "send", kind: "tiny_sink", status: "skipped", attempts: 0 },
          ...{ skipped_because: "no rows came", started_at: null, ended_at: null },
        },
      ],
    });
    expect((await admin.call({ path: `${RUNS}/${id}` })).status).toBe(200);
    for (const path of [`${RUNS}/${id}`, `${RUNS}/${newRunId(NOON)}`, `${RUNS}/run_none`]) {
      const { status, body } = await other.call({ path });
      expect([status, body.error.code]).toEqual([404, "not_found"]);
    }
  });
});

describe("GET /api/pipeline/runs", () => {
  it("lists the newest first, page by page, across days, and misses and repeats none", async () => {
    const id = await createWorkflow(owner);
    const stored: string[] = [];
    for (let at = 0; at < 25; at += 1) {
      // Some at the same millisecond.
      stored.push(await storeRun(NOON - Math.floor(at / 2) * 8 * 3_600_000, { workflowId: id }));
    }
    const seen: string[] = [];
    let before = "";
    do {
      const path = `${RUNS}?workflow=${id}&limit=4${before && `&before=${encodeURIComponent(before)}`}`;
      const page = await owner.call({ path });
      seen.push(...idsOf(page));
      before = page.body.next ?? "";
      expect(page.body.has_more).toBe(before !== "");
    } while (before !== "");
    expect(seen).toHaveLength(25);
    expect([...seen].sort()).toEqual([...stored].sort());
    const days = seen.map((run) => run.slice(4, 8));
    expect(days).toEqual([...days].sort().reverse());
  });

  it("filters by workflow, status, what started it and time", async () => {
    const id = await createWorkflow(owner);
    const one = await storeRun(NOON, { workflowId: id, status: "failed" });
    const two = await storeRun(NOON - DAY_MS, { workflowId: id, trigger: { kind: "schedule" } });
    const three = await storeRun(NOON - 40 * DAY_MS, { workflowId: id });
    const list = async (query: string) =>
      idsOf(await owner.call({ path: `${RUNS}?workflow=${id}&${query}` }));
    expect(await list("")).toEqual([one, two, three]);
    expect(await list("status=failed")).toEqual([one]);
    expect(await list("trigger=schedule")).toEqual([two]);
    expect(await list("trigger=webhook&status=completed")).toEqual([three]);
    expect(await list("from=2026-11-19&to=2026-11-20T12:00:00Z")).toEqual([two]);
    expect(await list("from=2026-11-20T12:00:00Z")).toEqual([one]);
    expect(await list("to=2026-11-01")).toEqual([three]);
    for (const query of ["status=done", "trigger=cron", "from=x", "before=x", "state=failed"]) {
      expect((await owner.call({ path: `${RUNS}?${query}` })).status).toBe(400);
    }
  });

  it("shows users the runs of their own and of shared workflows alone", async () => {
    const shared = await createWorkflow(owner);
    const hidden = await createWorkflow(owner);
    const visible = await storeRun(NOON, { workflowId: shared });
    const invisible = await storeRun(NOON, { workflowId: hidden });
    const before = await other.call({ path: `${RUNS}?limit=1000` });
    expect(idsOf(before)).not.toContain(visible);
    const path = `${PIPELINE}/workflows/${shared}`;
    await admin.call({ method: "PATCH", path, body: { visibility: "everyone" } });
    const after = idsOf(await other.call({ path: `${RUNS}?limit=1000` }));
    expect(after).toContain(visible);
    expect(after).not.toContain(invisible);
    expect(idsOf(await other.call({ path: `${RUNS}?workflow=${hidden}` }))).toEqual([]);
    expect(idsOf(await other.call({ path: `${RUNS}?workflow=${shared}` }))).toEqual([visible]);
    expect(idsOf(await owner.call({ path: `${RUNS}?workflow=${shared}` }))).toEqual([visible]);
  });
});

describe("The rows of a step", () => {
  const hostile = { name: "=1+1", "=x": "@y", nested: { a: [1] }, text: 'a,"b"\n', big: 1.5 };
  let runId: string;
  let path: string;

  beforeAll(async () => {
    runId = await storeRun(NOON);
    path = `${RUNS}/${runId}/steps/orders/rows`;
    await stage.records.database.ask((db) =>
      db.insert(workflowSteps).values({
        ...{ day: utcDay(NOON), runId, stepId: "orders", position: 0, kind: "tiny_source" },
        status: "completed",
      }),
    );
    const rows = Array.from(
      { length: 2_500 },
      (_, n): Row => ({ n, late: n > 1_999 ? true : null }),
    );
    await storeRows(runId, "orders", "main", rows);
    await storeRows(runId, "orders", "else", [hostile, { other: null }]);
  });

  it("come in pages, by their number over all chunks", async () => {
    const numbers = async (query: string) => {
      const { body } = await owner.call({ path: `${path}?${query}` });
      expect(body.total).toBe(2_500);
      return body.data.map(({ n }: { n: number }) => n);
    };
    expect(await numbers("limit=3")).toEqual([0, 1, 2]);
    expect(await numbers("limit=4&offset=998")).toEqual([998, 999, 1_000, 1_001]);
    expect(await numbers("limit=1000&offset=1500")).toHaveLength(1_000);
    expect(await numbers("offset=2500")).toEqual([]);
    const other = await owner.call({ path: `${path}?output=else` });
    expect(other.body).toEqual({ object: "list", data: [hostile, { other: null }], total: 2 });
  });

  it("come whole as NDJSON and as CSV, whose columns are those of all rows", async () => {
    const ndjson = await owner.call({ path: `${path}?format=ndjson` });
    expect(ndjson.headers.get("content-type")).toBe("application/x-ndjson");
    const lines = ndjson.text.trimEnd().split("\n");
    expect([lines.length, JSON.parse(lines[2_499] ?? "")]).toEqual([
      2_500,
      { n: 2_499, late: true },
    ]);
    const csv = await owner.call({ path: `${path}?format=csv` });
    expect(csv.headers.get("content-disposition")).toBe(
      `attachment; filename="${runId}-orders-main.csv"`,
    );
    const rows = csv.text.split("\r\n");
    expect([rows[0], rows[1], rows[2_500], rows.length]).toEqual([
      ...["n,late", "0,", "2499,true", 2_502],
    ]);
  });

  it("as CSV run no formulas in spreadsheets, also not as the names of columns", async () => {
    const { text } = await owner.call({ path: `${path}?format=csv&output=else` });
    expect(text).toBe(
      "name,'=x,nested,text,big,other\r\n" +
        `'=1+1,'@y,"{""a"":[1]}","a,""b""\n",1.5,\r\n,,,,,\r\n`,
    );
  });

  it("are those of a run that the caller may see, and of its steps and outputs", async () => {
    expect((await other.call({ path })).status).toBe(404);
    expect((await owner.call({ path: path.replace("orders", "none") })).status).toBe(404);
    expect((await owner.call({ path: `${path}?output=none` })).body.total).toBe(0);
    // What is stored of the progress of a step is no output.
    expect((await owner.call({ path: `${path}?output=$progress` })).status).toBe(400);
  });

  it("are gone once they were deleted", async () => {
    const dropped = await storeRun(NOON, { rowsDropped: true });
    const answer = await owner.call({ path: `${RUNS}/${dropped}/steps/$trigger/rows` });
    expect([answer.status, answer.body.error.message]).toEqual([
      404,
      expect.stringMatching(/kept/),
    ]);
  });
});

describe("A workflow whose last run failed", () => {
  it("shows that run, and counts in the status of those who see it", async () => {
    const id = await createWorkflow(owner);
    const path = `${PIPELINE}/workflows/${id}`;
    expect((await owner.call({ path })).body.last_run).toBeNull();
    await storeRun(NOON - DAY_MS, { workflowId: id });
    const endedAt = new Date(NOON + 1_000);
    const runId = await storeRun(NOON, { workflowId: id, status: "failed", endedAt });
    const shown = {
      ...{ run_id: runId, status: "failed" },
      ...{ queued_at: new Date(NOON).toISOString(), ended_at: endedAt.toISOString() },
    };
    expect((await owner.call({ path })).body.last_run).toEqual(shown);
    const { body } = await owner.call({ path: `${PIPELINE}/workflows` });
    expect(body.data.find((one: { id: string }) => one.id === id).last_run).toEqual(shown);

    const failing = async (person: WorkflowPerson) =>
      (await person.call({ path: "/api/status", token: person.session })).body.failing_workflows;
    const before = await Promise.all([owner, other, admin].map(failing));
    const failures = { consecutiveFailures: 2 };
    await stage.records.database.ask((db) =>
      db
        .insert(workflowQueues)
        .values({ workflowId: id, ...failures })
        .onConflictDoUpdate({ target: workflowQueues.workflowId, set: failures }),
    );
    const [mine = 0, theirs = 0, all = 0] = before;
    // The figure may be two seconds old.
    const after = () => Promise.all([owner, other, admin].map(failing));
    await expect.poll(after, { timeout: 30_000 }).toEqual([mine + 1, theirs, all + 1]);
  });
});
