import { countStepRows } from "../rows/read-step-rows.ts";
import { MAIN, TRIGGER_STEP } from "../rows/row-store.ts";
import {
  type ClaimedRun,
  type ExecuteRun,
  type RunEnd,
  type RunError,
  StepFailure,
} from "../runs/run.ts";
import type { WorkflowStore } from "../workflow-store.ts";
import { type Pauses, realPauses } from "./retry-pause.ts";
import { reuseSteps } from "./reuse-steps.ts";
import { RunClaim, settleAfterAbort } from "./run-claim.ts";
import { RunGraph } from "./run-graph.ts";
import {
  endOpenSteps,
  insertStepRecords,
  readBreak,
  readStepRecords,
  recordTotals,
  runErrorOf,
  type StepRecord,
} from "./step-records.ts";

export type ExecutionStore = Pick<
  WorkflowStore,
  "settings" | "database" | "clock" | "log" | "kinds"
>;

/** After an abort the steps may store what they have, and then the run is left. */
const GRACE_MS = 1_000;

/**
 * Works on claimed runs. Every step is recorded as it begins and ends, so that a later worker continues where this one
 * was lost.
 */
export function createExecution(store: ExecutionStore, pauses: Pauses = realPauses): ExecuteRun {
  return async (run, context) => {
    context.signal.throwIfAborted();
    const claim = new RunClaim(store.database, context, store.settings.RUN_LEASE_MS);
    return settleAfterAbort(executeRun({ store, claim, pauses }, run), context.signal, GRACE_MS);
  };
}

interface Execution {
  readonly store: ExecutionStore;
  readonly claim: RunClaim;
  readonly pauses: Pauses;
}

async function executeRun(execution: Execution, run: ClaimedRun): Promise<RunEnd> {
  const { claim } = execution;
  await claim.write((transaction) => insertStepRecords(transaction, run));
  const refused = await reuseEarlier(execution, run);
  const end = refused ?? (await workOn(execution, run));
  await finish(execution, run, end);
  return end;
}

/** A retry that cannot take over what it should fails before any step. */
async function reuseEarlier(
  { claim, store }: Execution,
  run: ClaimedRun,
): Promise<RunEnd | undefined> {
  const records = await readStepRecords(claim.db, run);
  try {
    await reuseSteps(claim, run, { ...store, records });
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof StepFailure)) throw thrown;
    return { status: "failed", error: { step: null, code: thrown.code, message: thrown.message } };
  }
}

async function workOn({ store, claim, pauses }: Execution, run: ClaimedRun): Promise<RunEnd> {
  const { settings, clock, log, kinds } = store;
  const records = await readStepRecords(claim.db, run);
  const failed = firstFailure(run, records);
  if (failed !== undefined) return { status: "failed", error: failed };
  const place = { day: run.day, runId: run.id, stepId: TRIGGER_STEP, output: MAIN };
  const graph = new RunGraph({
    ...{ run, records, claim, kinds, pauses, settings, clock, log },
    trigger: await countStepRows(claim.db, place),
    broken: await readBreak(claim.db, run),
  });
  return graph.run();
}

/** What an earlier worker recorded and could not end the run with. */
function firstFailure(
  { definition }: ClaimedRun,
  records: ReadonlyMap<string, StepRecord>,
): RunError | undefined {
  const failed = definition.steps
    .map(({ id }) => records.get(id))
    .filter((one) => one?.status === "failed");
  // Several failed at once: the first one failed the run.
  const [first] = failed.sort((one, other) => Number(one?.endedAt) - Number(other?.endedAt));
  return first == null ? undefined : runErrorOf(first.error ?? { step: first.stepId });
}

async function finish({ claim, store }: Execution, run: ClaimedRun, end: RunEnd): Promise<void> {
  await claim.advance(async (transaction) => {
    await endOpenSteps(transaction, run, { because: restOf(end), now: store.clock.now() });
    await recordTotals(transaction, run);
  });
}

function restOf(end: RunEnd): string {
  if (end.brokeAt !== undefined) return `The run ended at "${end.brokeAt}".`;
  if (end.status === "completed") return "The run ended before it.";
  return end.error.step === null ? "The run could not start." : `"${end.error.step}" failed.`;
}
