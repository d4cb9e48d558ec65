import { and, asc, eq, inArray } from "drizzle-orm";
import { ServiceError } from "../../../core/service-error.ts";
import { type Db, withTransaction } from "../../../db/context.ts";
import { isFromDatabase, isPassing, toDatabaseError } from "../../../db/database-error.ts";
import { repeatConflict } from "../../../db/repeat-conflict.ts";
import { workflowSteps } from "../../../db/tables/workflows.ts";
import {
  ClaimLost,
  type Job,
  type JobOutcome,
  STORE_AWAY,
  type WorkContext,
} from "../../../queue/topic.ts";
import type { WorkflowStore } from "../../workflow-store.ts";
import type { RunWaits } from "../children/run-waits.ts";
import { endRun } from "../end/end-run.ts";
import type { ReadDefinition } from "../run.ts";
import { type ExecuteRun, type RunEnd, StepFailure } from "../run.ts";
import { runOfJob } from "../run-topic.ts";
import { type BegunRun, beginRun } from "./claim-run.ts";
import { executeInTime, isOverdue } from "./execute-in-time.ts";
import { limitIdle } from "./limit-idle.ts";

/** Workers that may be lost, one after another, without progress of the run between them. */
const LOST_WORKERS_MAX = 3;

const DONE: JobOutcome = { kind: "done" };

export interface RunWork {
  readonly store: Pick<WorkflowStore, "database" | "settings" | "clock" | "log" | "wakeEvents">;
  readonly execute: ExecuteRun;
  readonly readDefinition: ReadDefinition;
  readonly waits: RunWaits;
  /** Looks for the next job at once. */
  readonly wake: () => void;
}

/** How a try at a run went: `end`, or why nothing can run. The step is filled in where it is not known. */
type Failure = readonly [code: string, message: string];

/** One worker's try at a run, from its claim to its end. The worker before it may have been lost anywhere. */
export async function workOnRun(
  work: RunWork,
  job: Job,
  context: WorkContext,
): Promise<JobOutcome> {
  const { clock } = work.store;
  const named = runOfJob(job.body);
  if (named === undefined) return { kind: "refused", error: "the job names no run" };
  const { confirm, signal } = context;
  try {
    const run = await change(work, (transaction) =>
      beginRun(transaction, { runId: named.run_id, jobId: job.id, confirm, now: clock.now() }),
    );
    if (run === undefined) return DONE;
    const refusal = refusalOf(job, run, clock.now());
    const end = refusal ? await failed(work, run, refusal) : await execute(work, run, context);
    await finish(work, { run, end, confirm });
    return DONE;
  } catch (thrown) {
    if (!signal.aborted && isAway(thrown)) return STORE_AWAY;
    throw thrown;
  }
}

/** A transaction on the claimed run. */
function change<Result>(
  { store: { database, settings } }: RunWork,
  run: (transaction: Db) => Promise<Result>,
): Promise<Result> {
  const begin = (db: Db) =>
    withTransaction(db, async (transaction) => {
      await limitIdle(transaction, database, settings.RUN_LEASE_MS);
      return run(transaction);
    });
  return repeatConflict(() => database.askOwn(begin));
}

/** Why a claimed run ends without being worked on. */
function refusalOf(job: Job, run: BegunRun, now: number): Failure | undefined {
  if (job.attempts > LOST_WORKERS_MAX) {
    return [
      "worker_lost",
      `${LOST_WORKERS_MAX} workers were lost one after another while they worked on this run, without progress between them. ` +
        "The log of the gateway says what ended them; start the run again with its retry.",
    ];
  }
  if (isOverdue(run, now)) return timeout(run);
  if (run.definition === undefined) return versionMissing(run);
  return ownerRefusal(run);
}

/** What was accepted for one owner must not run with the rights of another one, such as who deleted that owner. */
function ownerRefusal({ hasActiveOwner, ownerId, acceptedFor }: BegunRun): Failure | undefined {
  if (!hasActiveOwner) {
    return [
      "owner_disabled",
      "The owner of the workflow is deleted or disabled. An administrator enables the owner, or takes the workflow over.",
    ];
  }
  if (acceptedFor === ownerId) return undefined;
  return [
    "owner_changed",
    "The workflow has another owner since this run was accepted, and would run with that one's rights. Retry the run if it is still wanted.",
  ];
}

function versionMissing({ version }: BegunRun): Failure {
  return [
    "version_missing",
    `The version ${version} of the workflow, which the run was accepted with, is gone. Start a new run.`,
  ];
}

function timeout({ timeoutSeconds }: BegunRun): Failure {
  return [
    "run_timeout",
    `The run took longer than the ${timeoutSeconds} seconds that its workflow allows (timeout_seconds).`,
  ];
}

async function execute(work: RunWork, run: BegunRun, context: WorkContext): Promise<RunEnd> {
  const { store, readDefinition } = work;
  const { definition } = run;
  if (definition === undefined) return failed(work, run, versionMissing(run));
  try {
    const claimed = { ...run, definition: readDefinition(definition) };
    const end = await executeInTime(work.execute, claimed, { context, clock: store.clock });
    return end === "run_timeout" ? await failed(work, run, timeout(run)) : end;
  } catch (thrown) {
    const isOurs = context.signal.aborted || thrown instanceof ClaimLost || isAway(thrown);
    if (isOurs) throw thrown;
    if (thrown instanceof StepFailure) return failed(work, run, [thrown.code, thrown.message]);
    store.log.error({ err: thrown, run: run.id }, "the work on a run threw an error");
    return failed(work, run, [
      "internal_error",
      "The gateway failed on this run. The operator finds the cause in the log by the run's id.",
    ]);
  }
}

/** A failed end at the step that was under way. */
async function failed(
  { store }: RunWork,
  { day, id }: BegunRun,
  [code, message]: Failure,
): Promise<RunEnd> {
  const { status, position, stepId } = workflowSteps;
  const [open] = await store.database.askOwn((db) =>
    db
      .select({ stepId })
      .from(workflowSteps)
      .where(
        and(
          eq(workflowSteps.day, day),
          eq(workflowSteps.runId, id),
          inArray(status, ["running", "failed"]),
        ),
      )
      .orderBy(asc(position))
      .limit(1),
  );
  return { status: "failed", error: { step: open?.stepId ?? null, code, message } };
}

async function finish(
  work: RunWork,
  { run, end, confirm }: Pick<WorkContext, "confirm"> & { run: BegunRun; end: RunEnd },
): Promise<void> {
  const { store, waits, wake } = work;
  const { id: runId, workflowId } = run;
  const ended = await change(work, (transaction) =>
    endRun(transaction, { runId, workflowId, end, confirm, now: store.clock.now() }),
  );
  if (ended === undefined) return;
  waits.ended(runId);
  store.wakeEvents();
  if (ended.isNextRunning) wake();
}

/** The database does not answer: the run goes on when it does. */
function isAway(thrown: unknown): boolean {
  if (thrown instanceof ServiceError) return thrown.code === "storage_unavailable";
  return isFromDatabase(thrown) && isPassing(toDatabaseError(thrown));
}
