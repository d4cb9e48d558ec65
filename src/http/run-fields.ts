import { z } from "@hono/zod-openapi";
import { decodeBase64Text, encodeBase64Text } from "../lib/text/base64-text.ts";
import type { RunRow, RunWithSteps, StepRow } from "../workflows/records/find-run.ts";
import { RUN_STATUSES } from "../workflows/runs/run.ts";
import { count, time } from "./fields.ts";
import { anyObject } from "./workflow-fields.ts";

/** Runs as the routes show them. `runId`, `pipelineId` and `rowsReceived` are written as their senders know them. */

/** What starts runs. */
export const TRIGGER_KINDS = [
  "manual",
  "retry",
  "webhook",
  "schedule",
  "file",
  "knowledge",
  "workflow",
  "dataset",
  "step",
] as const;

const PLACE = /^(\d{1,15}) (run_[0-9A-Za-z]{1,40})$/;
/** The last millisecond of a year with four digits. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

/** A position in the list, as clients carry it from one page to the next. */
export const runPlace = z.codec(
  z.string().max(400),
  z.object({ queuedAt: z.number(), id: z.string() }).readonly(),
  {
    decode(text, { issues }) {
      const [, queuedAt, id] = PLACE.exec(decodeBase64Text(text) ?? "") ?? [];
      if (id !== undefined && Number(queuedAt) <= MAX_TIME) {
        return { queuedAt: Number(queuedAt), id };
      }
      issues.push({
        code: "custom",
        message: "what an earlier answer gave as 'next'",
        input: text,
      });
      return z.NEVER;
    },
    encode: ({ queuedAt, id }) => encodeBase64Text(`${queuedAt} ${id}`),
  },
);

const usage = anyObject.nullable().openapi({
  description: "Calls of models and their tokens.",
  example: { calls: 3, input_tokens: 812, output_tokens: 64 },
});
const error = anyObject.nullable().openapi({
  description: "`{step, row?, code, message}`: `row` counts from 1 over all inputs of the step.",
  example: {
    step: "classify",
    row: 7,
    code: "upstream_timeout",
    message: "The engine did not answer in time.",
  },
});

const runFields = {
  runId: z.string(),
  pipelineId: z.string().openapi({ description: "The workflow." }),
  status: z.enum(RUN_STATUSES),
  rowsReceived: count,
  workflow_name: z.string(),
  version: z.int().openapi({ description: "Of the workflow." }),
  trigger: anyObject.openapi({ example: { kind: "webhook" } }),
  chain: z.array(z.string()).openapi({
    description: "The workflows whose runs led to this one, the first one first.",
  }),
  queued_at: time,
  started_at: time.nullable(),
  ended_at: time.nullable(),
  attempts: count.openapi({ description: "Workers that began it." }),
  retries: count.openapi({ description: "Repetitions of its steps." }),
  failed_step: z.string().nullable(),
  error,
  broke_at: z.string().nullable().openapi({ description: "The `flow_break` that ended it." }),
  usage,
  retry_of: z.string().nullable().openapi({ description: "The run that this one repeats." }),
  retry_from: z.string().nullable().openapi({ description: "The first step that runs again." }),
  rows_dropped: z.boolean().openapi({ description: "Its rows were deleted." }),
};

const runStep = z
  .object({
    id: z.string(),
    kind: z.string(),
    status: z.enum(["pending", "running", "completed", "failed", "stopped", "skipped"]),
    attempts: count,
    rows_in: count,
    rows_out: count,
    row_errors: count,
    outputs: z.array(anyObject).openapi({ example: [{ name: "main", rows: 2, bytes: 96 }] }),
    skipped_because: z.string().nullable(),
    usage,
    error,
    started_at: time.nullable(),
    ended_at: time.nullable(),
  })
  .openapi("WorkflowRunStep");

const EXAMPLE = {
  runId: "run_0g6k3v9QmTq2LxZ8cR5nYb7K",
  pipelineId: "wf_3v9QmTq2LxZ8cR5nYb7KdW",
  status: "completed",
  rowsReceived: 2,
  workflow_name: "triage",
  version: 1,
  trigger: { kind: "webhook" },
  chain: [],
  queued_at: "2026-11-23T13:33:20.000Z",
  started_at: "2026-11-23T13:33:20.100Z",
  ended_at: "2026-11-23T13:33:24.000Z",
  attempts: 1,
  retries: 0,
  failed_step: null,
  error: null,
  broke_at: null,
  usage: { calls: 2, input_tokens: 812, output_tokens: 64 },
  retry_of: null,
  retry_from: null,
  rows_dropped: false,
};

export const listedRun = z.object(runFields).openapi("WorkflowRun", { example: EXAMPLE });
export const runWithSteps = z
  .object({ ...runFields, steps: z.array(runStep) })
  .openapi("WorkflowRunWithSteps", {
    example: {
      ...EXAMPLE,
      steps: [
        {
          id: "tickets",
          kind: "input",
          status: "completed",
          attempts: 1,
          rows_in: 0,
          rows_out: 2,
          row_errors: 0,
          outputs: [{ name: "main", rows: 2, bytes: 96 }],
          skipped_because: null,
          usage: null,
          error: null,
          started_at: "2026-11-23T13:33:20.100Z",
          ended_at: "2026-11-23T13:33:20.200Z",
        },
      ],
    },
  });

/** Names the fields of a run as its schema does. */
export function runRecord({ id, workflowId, ...run }: RunRow) {
  return { ...run, runId: id, pipelineId: workflowId };
}

export function runWithStepsRecord({ steps, ...run }: RunWithSteps) {
  return { ...runRecord(run), steps: steps.map(stepRecord) };
}

function stepRecord({ stepId, ...step }: StepRow) {
  return { ...step, id: stepId };
}
