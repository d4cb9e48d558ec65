import { and, eq, sql } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import type { Db } from "../../../db/context.ts";
import {
  workflowRows,
  workflowRuns,
  workflowSteps,
  workflows,
  workflowVersions,
} from "../../../db/tables/workflows.ts";
import type { Definition, Step } from "../../definition/definition.ts";
import { withStoredRows } from "../../rows/lost-rows.ts";
import { withRowState } from "../../rows/row-retention.ts";
import { MAIN, TRIGGER_STEP } from "../../rows/row-store.ts";
import { type AcceptStore, acceptRun } from "../accept/accept-runs.ts";
import type { AcceptedRun } from "../accept/acceptance.ts";
import { type ReadDefinition, type RunTrigger, startOf } from "../run.ts";
import { dayOfRun } from "../run-id.ts";
import { changedBefore, stepsBefore } from "./reusable-steps.ts";
import { acceptedOf } from "./start-run.ts";

type RunRecord = typeof workflowRuns.$inferSelect;

export interface Retry {
  readonly runId: string;
  /** The first step that is run again; the failed step unless given. */
  readonly from?: string | undefined;
  /** The user who asks for it. */
  readonly userId: string;
  readonly readDefinition: ReadDefinition;
  /** Whether what the trigger brought is a step's input. */
  readonly readsTrigger: (step: Step) => boolean;
}

/**
 * Starts a run that takes over the stored outputs of an ended one up to a step, in the caller's transaction, on the
 * current version of the workflow. Rejects with `not_found`, with `run_active`, and with what to do when the run cannot
 * be taken up there: `invalid_value` for `from`, `changed_meanwhile` when its outputs are gone or the steps before were
 * changed. The caller has checked that the user may start the workflow, and wakes the worker after the commit.
 */
export async function retryRun(
  transaction: Db,
  store: AcceptStore,
  { runId, from, userId, readDefinition, readsTrigger }: Retry,
): Promise<AcceptedRun> {
  const ended = withRowState(await findEnded(transaction, runId), store);
  const record = await withStoredRows(transaction, ended);
  const versions = await readVersions(transaction, record, readDefinition);
  const first = from ?? record.failedStep ?? versions.current.steps[0]?.id;
  if (first === undefined || !versions.current.steps.some(({ id }) => id === first)) {
    throw new ServiceError(
      "invalid_value",
      `'from' is invalid: the workflow has no step '${first ?? ""}' now. Name one of its steps.`,
      { param: "from" },
    );
  }
  await refuseUnusable(transaction, record, { ...versions, first, readsTrigger });
  const acceptance = await acceptRun(transaction, store, record.workflowId, {
    trigger: {
      kind: "retry",
      run_id: runId,
      user_id: userId,
      of: startOf(record.trigger as RunTrigger),
    },
    triggerKey: "retry",
    rows: [],
    chain: record.chain,
    // Its chain was judged when it was started.
    allowLoop: true,
    onlyWhenFree: true,
    evenDisabled: true,
    retryOf: runId,
    retryFrom: first,
  });
  const accepted = acceptedOf(acceptance);
  return { ...accepted, rowsReceived: await copyRows(transaction, record, accepted.runId) };
}

async function findEnded(transaction: Db, runId: string): Promise<RunRecord> {
  const day = dayOfRun(runId);
  const [record] =
    day === undefined
      ? []
      : await transaction
          .select()
          .from(workflowRuns)
          .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)));
  if (record === undefined) throw new ServiceError("not_found", "There is no such run.");
  if (record.endedAt !== null) return record;
  throw new ServiceError(
    "run_active",
    "The run is still queued or running. Wait for its end, or stop it first.",
  );
}

interface Versions {
  /** Of the run. */
  readonly own: Definition;
  readonly current: Definition;
}

async function readVersions(
  transaction: Db,
  { workflowId, version }: RunRecord,
  readDefinition: ReadDefinition,
): Promise<Versions> {
  const [found] = await transaction
    .select({ own: workflowVersions.definition, current: workflows.definition })
    .from(workflows)
    .innerJoin(
      workflowVersions,
      and(eq(workflowVersions.workflowId, workflows.id), eq(workflowVersions.version, version)),
    )
    .where(eq(workflows.id, workflowId));
  if (found === undefined) throw new ServiceError("not_found", "The workflow of this run is gone.");
  return { own: readDefinition(found.own), current: readDefinition(found.current) };
}

/**
 * Every step before the first one must be as it was, have ended well, and still have its rows. A run that begins anew,
 * from a source of its own, needs none.
 */
async function refuseUnusable(
  transaction: Db,
  record: RunRecord,
  {
    own,
    current,
    first,
    readsTrigger,
  }: Versions & Pick<Retry, "readsTrigger"> & { readonly first: string },
): Promise<void> {
  const { day, id } = record;
  const above = stepsBefore(current, first);
  // Wherever these steps stand: without rows the whole run begins anew.
  const needsTrigger = record.rowsReceived > 0 && current.steps.some(readsTrigger);
  if (record.rowsDropped && (above.length > 0 || needsTrigger)) {
    throw new ServiceError(
      "changed_meanwhile",
      "The rows of this run are no longer kept. Start the workflow again instead.",
    );
  }
  const changed = changedBefore(own, current, first);
  if (changed !== undefined) {
    throw new ServiceError(
      "changed_meanwhile",
      `The step '${changed}' was changed since this run, and its stored output does not fit any more. Retry from '${changed}' or a step before it.`,
      { param: "from" },
    );
  }
  const steps = await transaction
    .select({ id: workflowSteps.stepId, status: workflowSteps.status })
    .from(workflowSteps)
    .where(and(eq(workflowSteps.day, day), eq(workflowSteps.runId, id)));
  const done = new Set(
    steps
      .filter(({ status }) => status === "completed" || status === "skipped")
      .map((step) => step.id),
  );
  const missing = above.find((stepId) => !done.has(stepId));
  if (missing === undefined) return;
  throw new ServiceError(
    "invalid_value",
    `'from' is invalid: the step '${missing}' before it did not complete in this run. Retry from '${missing}' or a step before it.`,
    { param: "from" },
  );
}

/** Gives the new run the rows that the old one received, so that it does not depend on how long the old one is kept. */
async function copyRows(transaction: Db, from: RunRecord, runId: string): Promise<number> {
  const day = dayOfRun(runId) ?? "";
  const rowsReceived = from.rowsDropped ? 0 : from.rowsReceived;
  await transaction.execute(sql`
    insert into ${workflowRows} (day, run_id, step_id, output, chunk, rows, bytes, data)
    select ${day}::date, ${runId}, step_id, output, chunk, rows, bytes, data from ${workflowRows}
    where day = ${from.day} and run_id = ${from.id}
      and step_id = ${TRIGGER_STEP} and output = ${MAIN}`);
  await transaction
    .update(workflowRuns)
    .set({ rowsReceived })
    .where(and(eq(workflowRuns.day, day), eq(workflowRuns.id, runId)));
  return rowsReceived;
}
