import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRuns, workflowSteps } from "../../db/tables/workflows.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ClaimedRun, RunError } from "../runs/run.ts";
import type { StepEnd, StepUsage } from "../steps/step-kind.ts";

type RunPlace = Pick<ClaimedRun, "id" | "day">;
export type StepRecord = typeof workflowSteps.$inferSelect;

/** One output as it stands in a step's record. */
export interface OutputFigures {
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
}

/** What a step has stored so far. */
export interface StepFigures {
  readonly outputs: readonly OutputFigures[];
  readonly rowErrors: number;
  readonly usage: StepUsage;
}

/** Writes the records of steps that have none yet, as `pending`. */
export async function insertStepRecords(db: Db, run: ClaimedRun): Promise<void> {
  const rows = run.definition.steps.map(({ id, kind }, position) => ({
    ...{ day: run.day, runId: run.id, stepId: id },
    ...{ kind, position, status: "pending" as const },
  }));
  if (rows.length > 0) await db.insert(workflowSteps).values(rows).onConflictDoNothing();
}

export async function readStepRecords(
  db: Db,
  { id, day }: RunPlace,
): Promise<ReadonlyMap<string, StepRecord>> {
  const { day: dayColumn, runId } = workflowSteps;
  const records = await db
    .select()
    .from(workflowSteps)
    .where(and(eq(dayColumn, day), eq(runId, id)));
  return new Map(records.map((record) => [record.stepId, record]));
}

/** Changes the record of a step while it has one of these statuses; false when it has another one by now. */
export async function updateStep(
  db: Db,
  { run, stepId, from }: StepPlace,
  change: Partial<typeof workflowSteps.$inferInsert>,
): Promise<boolean> {
  const changed = await db
    .update(workflowSteps)
    .set(change)
    .where(
      and(
        eq(workflowSteps.day, run.day),
        eq(workflowSteps.runId, run.id),
        eq(workflowSteps.stepId, stepId),
        inArray(workflowSteps.status, [...from]),
      ),
    )
    .returning({ stepId: workflowSteps.stepId });
  return changed.length > 0;
}

export interface StepPlace {
  readonly run: RunPlace;
  readonly stepId: string;
  readonly from: readonly StepRecord["status"][];
}

/** Begins a try: it counts, and where it is not the first one the run counts a repetition. */
export async function beginTry(
  db: Db,
  run: RunPlace,
  begun: { readonly stepId: string; readonly rowsIn: number; readonly now: number },
): Promise<void> {
  const { attempts, startedAt } = workflowSteps;
  // A worker that was lost at the end of a run may have stopped the step.
  const place = { run, stepId: begun.stepId, from: ["pending", "running", "stopped"] as const };
  const [record] = await db
    .select({ attempts })
    .from(workflowSteps)
    .where(
      and(
        eq(workflowSteps.day, run.day),
        eq(workflowSteps.runId, run.id),
        eq(workflowSteps.stepId, begun.stepId),
      ),
    );
  await updateStep(db, place, {
    status: "running",
    attempts: sql`${attempts} + 1` as never,
    rowsIn: begun.rowsIn,
    endedAt: null,
    startedAt:
      sql`coalesce(${startedAt}, ${new Date(begun.now).toISOString()}::timestamptz)` as never,
  });
  if ((record?.attempts ?? 0) > 0) await addRetries(db, run, 1);
}

/** Marks the steps that never started. */
export async function skipSteps(
  db: Db,
  run: RunPlace,
  skipped: readonly { readonly stepId: string; readonly because: string }[],
): Promise<void> {
  for (const { stepId, because } of skipped) {
    const place = { run, stepId, from: ["pending"] as const };
    await updateStep(db, place, { status: "skipped", skippedBecause: because });
  }
}

/** Ends what a failed run leaves behind: running steps are stopped, the others skipped. */
export async function endOpenSteps(
  db: Db,
  run: RunPlace,
  { because, now }: { readonly because: string; readonly now: number },
): Promise<void> {
  const isOfRun = and(eq(workflowSteps.day, run.day), eq(workflowSteps.runId, run.id));
  await db
    .update(workflowSteps)
    .set({ status: "stopped", endedAt: new Date(now) })
    .where(and(isOfRun, eq(workflowSteps.status, "running")));
  await db
    .update(workflowSteps)
    .set({ status: "skipped", skippedBecause: because })
    .where(and(isOfRun, eq(workflowSteps.status, "pending")));
}

export function figuresOf({ outputs, rowErrors, usage }: StepFigures) {
  return {
    outputs: outputs.map((output) => ({ ...output })),
    // Rows that could not be taken are counted beside them.
    rowsOut: outputs.reduce((sum, { name, rows }) => sum + (name === "errors" ? 0 : rows), 0),
    rowErrors,
    usage: usageJson(usage),
  };
}

/** The outputs that a record counts. */
export function outputsOf(json: readonly JsonObject[]): readonly OutputFigures[] {
  return json.map(({ name, rows, bytes }) => ({
    name: String(name),
    rows: Number(rows),
    bytes: Number(bytes),
  }));
}

function usageJson({ calls, inputTokens, outputTokens }: StepUsage): JsonObject {
  return { calls, input_tokens: inputTokens, output_tokens: outputTokens };
}

export function usageOf(json: JsonObject | null | undefined): StepUsage {
  const of = (name: string) => (typeof json?.[name] === "number" ? json[name] : 0);
  return { calls: of("calls"), inputTokens: of("input_tokens"), outputTokens: of("output_tokens") };
}

export async function addRetries(db: Db, run: RunPlace, retries: number): Promise<void> {
  await db
    .update(workflowRuns)
    .set({ retries: sql`${workflowRuns.retries} + ${retries}` })
    .where(isRun(run));
}

/** How a `flow_break` ended the run; the first one counts. */
export async function recordBreak(
  db: Db,
  run: RunPlace,
  { stepId, breaks }: { readonly stepId: string; readonly breaks: StepEnd["breaks"] },
): Promise<void> {
  const error = breaks.as === "failed" ? { error: { ...breakError(stepId, breaks.message) } } : {};
  await db
    .update(workflowRuns)
    .set({ brokeAt: stepId, ...error })
    .where(and(isRun(run), isNull(workflowRuns.brokeAt)));
}

export function breakError(stepId: string, message: string): RunError {
  return { step: stepId, code: "flow_break", message };
}

/** Returns where an earlier worker saw the run broken. */
export async function readBreak(
  db: Db,
  run: RunPlace,
): Promise<{ readonly brokeAt: string; readonly error: RunError | undefined } | undefined> {
  const { brokeAt, error } = workflowRuns;
  const [found] = await db.select({ brokeAt, error }).from(workflowRuns).where(isRun(run));
  if (found?.brokeAt == null) return undefined;
  return {
    brokeAt: found.brokeAt,
    error: found.error === null ? undefined : runErrorOf(found.error),
  };
}

export function runErrorOf({ step, row, code, message }: JsonObject): RunError {
  return {
    step: typeof step === "string" ? step : null,
    ...(typeof row === "number" && { row }),
    code: String(code),
    message: String(message),
  };
}

/** Writes the sums of the run's steps into its record. */
export async function recordTotals(db: Db, run: RunPlace): Promise<void> {
  const sumOf = (name: string) =>
    sql`coalesce(sum((${workflowSteps.usage} ->> ${name})::bigint), 0)`;
  const isOfRun = and(eq(workflowSteps.day, run.day), eq(workflowSteps.runId, run.id));
  await db
    .update(workflowRuns)
    .set({
      usage: sql`(select jsonb_build_object('calls', ${sumOf("calls")},
        'input_tokens', ${sumOf("input_tokens")}, 'output_tokens', ${sumOf("output_tokens")})
        from ${workflowSteps} where ${isOfRun})`,
    })
    .where(isRun(run));
}

function isRun({ id, day }: RunPlace) {
  return and(eq(workflowRuns.day, day), eq(workflowRuns.id, id));
}
