import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { keepLargeNumbers } from "../../lib/json/exact-json.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { readCallChain } from "../../workflows/calls-out/call-chain.ts";
import { retryRun, startRun, stopRun, stopRuns } from "../../workflows/records/control-runs.ts";
import { findRun } from "../../workflows/records/find-run.ts";
import { listRuns } from "../../workflows/records/list-runs.ts";
import { findRows, readAllRows, readRowsPage } from "../../workflows/records/step-rows.ts";
import { MAX_ROW_BYTES, type Row } from "../../workflows/rows/row.ts";
import { RUN_STATUSES } from "../../workflows/runs/run.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { csvResponse, ndjsonResponse } from "../answers/rows-response.ts";
import { toJson } from "../answers/to-json.ts";
import { hasBody, readCheckedBody } from "../bodies/read-checked-body.ts";
import { type BodyLimits, readJsonBody } from "../bodies/read-json-body.ts";
import { count, queryId } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, page, readQuery } from "../page.ts";
import { queryTime } from "../query-range.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { inSilence } from "../request/in-silence.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import {
  listedRun,
  runPlace,
  runRecord,
  runWithSteps,
  runWithStepsRecord,
  TRIGGER_KINDS,
} from "../run-fields.ts";
import { anyObject, TAG, UNKNOWN_RUN, UNKNOWN_WORKFLOW } from "../workflow-fields.ts";

const MEBIBYTE = 1024 * 1024;
/** As a webhook takes them. */
const START_BODY = { maxBytes: 32 * MEBIBYTE, isFixed: true, rewrite: keepLargeNumbers } as const;
/** `{rows: [row]}`: a row may nest as deep as one that is the body of a webhook. */
const LEVELS_AROUND_ROWS = 2;
const MAX_START_ROWS = 100_000;
/** Outputs whose names begin with `$` are none. */
const OUTPUT = /^[a-z][a-z0-9_]{0,63}$/;

const runQuery = page(
  {
    workflow: queryId.optional().openapi({ description: "The id of a workflow." }),
    status: z.enum(RUN_STATUSES).optional(),
    trigger: z.enum(TRIGGER_KINDS).optional().openapi({ description: "What started the run." }),
    from: queryTime.optional().openapi({ description: "Accepted at this time or later." }),
    to: queryTime.optional().openapi({ description: "Accepted before this time." }),
  },
  { before: runPlace.optional().openapi({ description: "`next` of an earlier answer." }) },
);
const runList = z
  .object({
    object: z.literal("list"),
    data: z.array(listedRun),
    has_more: z.boolean(),
    next: runPlace.nullable().openapi({ description: "`before` of the next page." }),
  })
  .openapi("WorkflowRunList");

const newRun = z
  .strictObject({ rows: z.array(anyObject).max(MAX_START_ROWS).optional() })
  .openapi("NewWorkflowRun", { example: { rows: [{ title: "Printer on fire" }] } });
const acceptedRun = z
  .object({
    runId: z.string(),
    status: z.enum(["queued", "running"]),
    pipelineId: z.string(),
    rowsReceived: count,
  })
  .openapi("AcceptedWorkflowRun", {
    example: {
      runId: "run_0g6k3v9QmTq2LxZ8cR5nYb7K",
      status: "running",
      pipelineId: "wf_3v9QmTq2LxZ8cR5nYb7KdW",
      rowsReceived: 1,
    },
  });
const stoppedRuns = z
  .object({ object: z.literal("workflow.stopped"), stopped: count })
  .openapi("StoppedWorkflow", { example: { object: "workflow.stopped", stopped: 3 } });
const retry = z
  .strictObject({
    from: z.string().max(40).optional().openapi({
      description: "The first step to run again; unset: the one that failed.",
    }),
  })
  .openapi("WorkflowRunRetry", { example: { from: "classify" } });

const rowQuery = page(
  {
    output: z.string().regex(OUTPUT, "the name of an output, as in 'else'").optional(),
    format: z.enum(["json", "csv", "ndjson"]).default("json"),
  },
  byOffset,
);
const rowList = z
  .object({ object: z.literal("list"), data: z.array(anyObject), total: count })
  .openapi("WorkflowRowList", {
    example: { object: "list", data: [{ title: "Printer on fire" }], total: 1 },
  });

const RUNS = { access: "person", tag: TAG } as const;
const READ = { ...RUNS, tokens: "workflows" } as const;
const RUN = { ...RUNS, tokens: "workflows:run" } as const;
const OF_WORKFLOW = "/api/pipeline/workflows/{id}";
const LIST_PATH = "/api/pipeline/runs";
const ONE_PATH = `${LIST_PATH}/{runId}`;
const ACTIVE = "A run of the workflow is queued or running (`run_active`)";

const START = resourceRoute({
  ...RUN,
  path: `${OF_WORKFLOW}/runs`,
  method: "post",
  operationId: "startWorkflow",
  summary: "Start a workflow",
  description: "With these rows as its input, by default one empty row.",
  body: newRun,
  hasOptionalBody: true,
  answer: { status: 202, description: "The run.", schema: acceptedRun },
  errors: {
    ...UNKNOWN_WORKFLOW,
    409: `${ACTIVE}, or a run makes the call that the workflow itself led to (\`workflow_loop\`).`,
  },
});
const STOP_ALL = {
  ...resourceRoute({
    ...RUN,
    path: `${OF_WORKFLOW}/stop`,
    method: "post",
    operationId: "stopWorkflow",
    summary: "Stop a workflow",
    description: "Stops the running run and all that wait. Later triggers start it again.",
    answer: { description: "How many runs were stopped.", schema: stoppedRuns },
    errors: UNKNOWN_WORKFLOW,
  }),
  licensed: false,
};
const LIST = resourceRoute({
  ...READ,
  path: LIST_PATH,
  method: "get",
  operationId: "listWorkflowRuns",
  summary: "List the runs of workflows",
  description: "Those of workflows that the caller may see, the newest first.",
  query: runQuery,
  answer: { description: "A page of the runs.", schema: runList },
});
const FIND = resourceRoute({
  ...READ,
  path: ONE_PATH,
  method: "get",
  operationId: "getWorkflowRun",
  summary: "Show one run with its steps",
  answer: { description: "The run.", schema: runWithSteps },
  errors: UNKNOWN_RUN,
});
const STOP = {
  ...resourceRoute({
    ...RUN,
    path: `${ONE_PATH}/stop`,
    method: "post",
    operationId: "stopWorkflowRun",
    summary: "Stop one run",
    description: "It is `stopped` at once. A run that has ended stays as it is.",
    answer: { description: "The run.", schema: runWithSteps },
    errors: UNKNOWN_RUN,
  }),
  licensed: false,
};
const RETRY = resourceRoute({
  ...RUN,
  path: `${ONE_PATH}/retry`,
  method: "post",
  operationId: "retryWorkflowRun",
  summary: "Repeat a run from one of its steps on",
  description: "As a new run, with the stored outputs of the steps before.",
  body: retry,
  hasOptionalBody: true,
  answer: { status: 202, description: "The new run.", schema: acceptedRun },
  errors: {
    ...UNKNOWN_RUN,
    409: `${ACTIVE}, or the stored outputs are gone or of steps that were changed (\`changed_meanwhile\`).`,
  },
});
const ROWS = resourceRoute({
  ...READ,
  path: `${ONE_PATH}/steps/{step}/rows`,
  method: "get",
  operationId: "listWorkflowRows",
  summary: "Show the rows that a step wrote",
  description:
    "`$trigger` is what the trigger brought. As CSV or NDJSON all of them, as JSON a page. In CSV a text that a " +
    "spreadsheet would run as a formula has an apostrophe before it.",
  query: rowQuery,
  answer: { description: "The rows.", schema: rowList, hasCsv: true, hasNdjson: true },
  errors: { 404: "There is no such run or step for the caller, or its rows were deleted." },
});

/** `/api/pipeline/runs`, and what starts and stops runs. */
export function workflowRunsRoutes(deps: Deps): Router {
  const { workflows: records, settings } = deps;
  const startBody = { ...START_BODY, maxDepth: settings.MAX_JSON_DEPTH + LEVELS_AROUND_ROWS };
  const router = createRouter(deps);
  router.add(START, async (context, caller) => {
    const id = idOf(context);
    const rows = hasBody(context) ? await readRows(context, startBody) : [{}];
    const chain = readCallChain(records.secretBox, context.req.raw.headers, id);
    const run = await startRun(records, actorOf(context, caller), { id, rows, chain });
    return accepted({ ...run, pipelineId: id });
  });
  router.add(STOP_ALL, async (context, caller) => {
    const stopped = await stopRuns(records, actorOf(context, caller), idOf(context));
    return jsonResponse(toJson(stoppedRuns, { stopped }));
  });
  router.add(LIST, async (context, caller) => {
    const { workflow, trigger, from, to, ...asked } = readQuery(context, runQuery);
    const { runs, next } = await listRuns(records, caller, {
      ...asked,
      workflowId: workflow,
      triggerKind: trigger,
      from: from === undefined ? undefined : Date.parse(from),
      to: to === undefined ? undefined : Date.parse(to),
    });
    const shown = { data: runs.map(runRecord), hasMore: next !== null, next };
    return jsonResponse(toJson(runList, shown));
  });
  router.add(FIND, async (context, caller) =>
    jsonResponse(
      toJson(runWithSteps, runWithStepsRecord(await findRun(records, caller, runIdOf(context)))),
    ),
  );
  router.add(STOP, async (context, caller) => {
    const runId = runIdOf(context);
    await stopRun(records, actorOf(context, caller), runId);
    const run = await findRun(records, caller, runId);
    return jsonResponse(toJson(runWithSteps, runWithStepsRecord(run)));
  });
  router.add(RETRY, async (context, caller) => {
    const { from } = hasBody(context) ? await readCheckedBody(context, retry) : {};
    const { workflowId, ...run } = await retryRun(records, actorOf(context, caller), {
      runId: runIdOf(context),
      from,
    });
    return accepted({ ...run, pipelineId: workflowId });
  });
  router.add(ROWS, async (context, caller) => {
    const { output, format, limit, offset } = readQuery(context, rowQuery);
    const stepId = context.req.param("step") ?? "";
    const place = await findRows(records, caller, { runId: runIdOf(context), stepId, output });
    if (format === "json") {
      const { rows, total } = await readRowsPage(records, place, { limit, offset });
      return jsonResponse(toJson(rowList, { data: rows, total }));
    }
    const read = () => readAllRows(records, place);
    const name = `${place.runId}-${stepId.replace("$", "")}-${place.output}`;
    if (format === "ndjson") return ndjsonResponse(read, name);
    // All rows are read for the names of the columns, before the first byte leaves.
    return inSilence(context, () => csvResponse(read, name));
  });
  return router;
}

function runIdOf({ req }: RequestContext): string {
  return req.param("runId") ?? "";
}

function accepted(run: Parameters<typeof toJson<typeof acceptedRun>>[1]): Response {
  const response = jsonResponse(toJson(acceptedRun, run), 202);
  response.headers.set("location", `${LIST_PATH}/${run.runId}`);
  return response;
}

/** Checked by hand, because a schema takes long for so many rows. */
async function readRows({ req }: RequestContext, limits: BodyLimits): Promise<readonly Row[]> {
  const { body } = await readJsonBody(req.raw, limits);
  if (!isJsonObject(body)) throw invalidValue([], "an object", body);
  const other = Object.keys(body).find((name) => name !== "rows");
  if (other !== undefined) {
    const param = other.slice(0, 40);
    throw new ServiceError("unsupported_parameter", `'${param}' cannot be set here.`, { param });
  }
  const { rows = [{}] } = body;
  if (!Array.isArray(rows)) throw invalidValue(["rows"], "an array", rows);
  if (rows.length > MAX_START_ROWS) {
    throw new ServiceError("request_too_large", `A run takes at most ${MAX_START_ROWS} rows.`);
  }
  for (const [at, row] of rows.entries()) {
    if (!isJsonObject(row)) throw invalidValue(["rows", at], "an object", row);
    if (Buffer.byteLength(JSON.stringify(row)) > MAX_ROW_BYTES) {
      throw invalidValue(["rows", at], `at most ${MAX_ROW_BYTES} bytes of JSON`, row);
    }
  }
  return rows as readonly Row[];
}
