import { isStoreAway } from "../../db/is-store-away.ts";
import { isConflict } from "../../db/repeat-conflict.ts";
import { ClaimLost } from "../../queue/topic.ts";
import { RowTooLarge } from "../rows/pack-rows.ts";
import { type RunError, StepFailure } from "../runs/run.ts";
import type { StepEnd } from "../steps/step-kind.ts";
import { checkStep } from "./check-step.ts";
import { retryPauseMs } from "./retry-pause.ts";
import { deleteProgress } from "./row-progress.ts";
import { settleAfterAbort } from "./run-claim.ts";
import { StepAttempt } from "./step-attempt.ts";
import { startRunDeadline, startTryDeadline } from "./step-deadline.ts";
import { figuresOf, type OutputFigures, updateStep } from "./step-records.ts";
import type { StepWork } from "./step-work.ts";

export type StepOutcome =
  | {
      readonly kind: "completed";
      readonly end: StepEnd | undefined;
      readonly outputs: readonly OutputFigures[];
    }
  | { readonly kind: "failed"; readonly error: RunError }
  /** Another step failed. */
  | { readonly kind: "stopped" };

/** Why a step was aborted: another one of its run failed. */
export class SiblingFailed extends Error {
  override readonly name = "SiblingFailed";
}

/** After its abort a step may store what it has, for this long. A stopped run has to rest within 2 s. */
const GRACE_MS = 500;
const CONFLICT = "conflict";
/** Undone because of another transaction, which is no fault of the step: tried again at once, whatever its `retries`. */
const FREE_CONFLICTS = 3;

/**
 * Runs a step and its repetitions, and records how it ended. Rejects only when the run cannot go on here: the claim is
 * lost, the server stops, the database is away.
 *
 * @param halted aborts with `SiblingFailed` when another step failed, or with what made the whole run unworkable.
 */
export async function runStep(
  given: Omit<StepWork, "timeLeftMs">,
  halted: AbortSignal,
): Promise<StepOutcome> {
  const deadline = startRunDeadline(given.run, given.clock);
  const work: StepWork = { ...given, timeLeftMs: deadline.leftMs };
  const signal = AbortSignal.any([given.claim.signal, halted, deadline.signal]);
  try {
    return await repeatStep(work, signal);
  } catch (thrown) {
    given.claim.signal.throwIfAborted();
    if (!(halted.reason instanceof SiblingFailed)) throw thrown;
    await recordStop(work);
    return { kind: "stopped" };
  } finally {
    deadline.clear();
  }
}

/** Rejects with what is no failure of the step. */
async function repeatStep(first: StepWork, signal: AbortSignal): Promise<StepOutcome> {
  const { step, pauses, timeLeftMs } = first;
  let work = first;
  let conflicts = 0;
  for (let tries = 1; ; tries += 1) {
    const tried = await tryStep(work, { tries, signal });
    if (tried.kind === "completed") return tried;
    const { failure, attempt } = tried;
    if (failure.code === CONFLICT && conflicts < FREE_CONFLICTS) {
      conflicts += 1;
      tries -= 1;
      work = { ...work, usage: attempt?.usage ?? work.usage };
      continue;
    }
    const pauseMs = retryPauseMs(failure, tries, pauses.random());
    if (!failure.isRetryable || tries > step.retries || pauseMs > timeLeftMs()) {
      return { kind: "failed", error: await recordFailure(work, attempt, failure) };
    }
    work = { ...work, usage: attempt?.usage ?? work.usage };
    // The wait ends early with the run; the next try fails with the reason then.
    await pauses.pause(pauseMs, signal).catch(() => undefined);
  }
}

interface Try {
  readonly tries: number;
  readonly signal: AbortSignal;
}

type Tried =
  | Extract<StepOutcome, { readonly kind: "completed" }>
  | {
      readonly kind: "failed";
      readonly failure: StepFailure;
      readonly attempt: StepAttempt | undefined;
    };

/** Rejects with what is no failure of the step. */
async function tryStep(given: StepWork, { tries, signal: ofRun }: Try): Promise<Tried> {
  const deadline = startTryDeadline(given.step);
  const signal = AbortSignal.any([ofRun, deadline.signal]);
  const timeLeftMs = () => Math.min(given.timeLeftMs(), deadline.leftMs());
  const work: StepWork = { ...given, timeLeftMs };
  let attempt: StepAttempt | undefined;
  try {
    attempt = await StepAttempt.begin(work, signal);
    const end = await workOn(work, attempt, { tries, signal });
    return { kind: "completed", end, outputs: attempt.figures.outputs };
  } catch (thrown) {
    await attempt?.close(thrown);
    if (attempt?.isCommitted) {
      return { kind: "completed", end: undefined, outputs: attempt.figures.outputs };
    }
    // The step's time is over, or else it is not the step that failed.
    if (signal.aborted && !(signal.reason instanceof StepFailure)) throw signal.reason;
    const failure = failureOf(signal.aborted ? signal.reason : thrown, work);
    return { kind: "failed", failure, attempt };
  } finally {
    deadline.clear();
  }
}

async function workOn(
  work: StepWork,
  attempt: StepAttempt,
  { tries, signal }: Try,
): Promise<StepEnd | undefined> {
  const { run, step, kind, claim } = work;
  signal.throwIfAborted();
  await checkStep(claim.db, run, { step, kind });
  signal.throwIfAborted();
  const end = await settleAfterAbort(kind.run(attempt.context(tries)), signal, GRACE_MS);
  // A step that has committed is done, whatever was aborted meanwhile.
  if (!attempt.isCommitted) signal.throwIfAborted();
  await attempt.complete(end);
  return end;
}

/** Rethrows what is no failure of the step. */
function failureOf(thrown: unknown, { run, step, log }: StepWork): StepFailure {
  if (thrown instanceof StepFailure) return thrown;
  if (thrown instanceof RowTooLarge) return new StepFailure("row_too_large", thrown.message);
  if (thrown instanceof ClaimLost || isStoreAway(thrown)) throw thrown;
  if (isConflict(thrown)) {
    const message = "The step met another change of the same rows. Run it again.";
    return new StepFailure(CONFLICT, message, { isRetryable: true });
  }
  log.error(
    { err: thrown, run: run.id, step: step.id, kind: step.kind },
    "a step of a workflow failed unexpectedly",
  );
  const message = `The gateway failed in this step. Its log says more about the run ${run.id}.`;
  return new StepFailure("internal_error", message, { cause: thrown });
}

async function recordFailure(
  { run, step, claim, clock }: StepWork,
  attempt: StepAttempt | undefined,
  { code, message, row }: StepFailure,
): Promise<RunError> {
  const error = { step: step.id, ...(row !== undefined && { row }), code, message };
  await claim.advance(async (transaction) => {
    await updateStep(
      transaction,
      { run, stepId: step.id, from: ["pending", "running"] },
      {
        ...(attempt !== undefined && figuresOf(attempt.figures)),
        ...{ status: "failed", error, endedAt: new Date(clock.now()) },
      },
    );
    await deleteProgress(transaction, { day: run.day, runId: run.id, stepId: step.id });
  });
  return error;
}

async function recordStop({ run, step, claim, clock }: StepWork): Promise<void> {
  await claim.write(async (transaction) => {
    const change = { status: "stopped" as const, endedAt: new Date(clock.now()) };
    await updateStep(transaction, { run, stepId: step.id, from: ["pending", "running"] }, change);
    await deleteProgress(transaction, { day: run.day, runId: run.id, stepId: step.id });
  });
}
