import { and, eq, notLike, sql } from "drizzle-orm";
import type { Settings } from "../../config/settings.ts";
import type { Db } from "../../db/context.ts";
import { workflowRows, workflowRuns, workflowVersions } from "../../db/tables/workflows.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Step } from "../definition/definition.ts";
import { parseDefinition } from "../definition/parse-definition.ts";
import { withStoredRows } from "../rows/lost-rows.ts";
import { withRowState } from "../rows/row-retention.ts";
import { TRIGGER_STEP } from "../rows/row-store.ts";
import { stepsBefore, unchangedSteps } from "../runs/control/reusable-steps.ts";
import { type ClaimedRun, StepFailure } from "../runs/run.ts";
import { dayOfRun } from "../runs/run-id.ts";
import type { StepKinds } from "../steps/registry.ts";
import type { RunClaim } from "./run-claim.ts";
import { readStepRecords, type StepRecord, updateStep } from "./step-records.ts";

/** Chunks that one statement copies: up to half a gigabyte within its time. */
const COPIED_CHUNKS = 250;

interface Reuse {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly kinds: StepKinds;
  readonly records: ReadonlyMap<string, StepRecord>;
}

interface EarlierRun {
  readonly id: string;
  readonly day: string;
  readonly version: number;
  readonly endedAt: Date | null;
  readonly rowsReceived: number;
  readonly rowsDropped: boolean;
}

/**
 * Takes over what an earlier run has done before the step from which this one repeats it: the outputs are copied, and
 * the steps recorded as completed. Those that an earlier worker took over are left. Rejects with a `StepFailure` when
 * the rows are deleted already.
 */
export async function reuseSteps(
  claim: RunClaim,
  run: ClaimedRun,
  { settings, clock, kinds, records }: Reuse,
): Promise<void> {
  const { retryOf } = run;
  if (retryOf === null) return;
  const recorded = withRowState(await readEarlier(claim.db, retryOf), { settings, clock });
  const earlier = await withStoredRows(claim.db, recorded);
  // It begins anew then: the acceptance has found that it needs nothing of the earlier run.
  if (earlier.rowsDropped && isFirstStep(run)) return;
  const done = await readStepRecords(claim.db, earlier);
  const unchanged = await findUnchanged(claim.db, run, { earlier, kinds });
  const reused = reusableSteps(run, { done, unchanged });
  const missing = reused.filter(({ id }) => records.get(id)?.status === "pending");
  if (missing.length === 0 && reused.length > 0) return;
  if (missing.length > 0 && earlier.rowsDropped) throw rowsAreGone(retryOf);
  await copyRows(claim, run, { earlier, stepId: TRIGGER_STEP });
  for (const { id } of missing) {
    const record = done.get(id);
    if (record === undefined) continue;
    const copied = await copyRows(claim, run, { earlier, stepId: id });
    const expected = record.outputs.reduce((sum, { rows }) => sum + Number(rows), 0);
    if (copied !== expected) throw rowsAreGone(retryOf);
    await claim.advance((transaction) => recordReuse(transaction, run, { record, clock }));
  }
}

function isFirstStep({ definition, retryFrom }: ClaimedRun): boolean {
  return retryFrom !== null && stepsBefore(definition, retryFrom).length === 0;
}

/**
 * Steps that the earlier run completed as they are now, and all above them too, and that do not depend on the first one
 * that is repeated.
 */
function reusableSteps(
  { definition, retryFrom }: ClaimedRun,
  given: {
    readonly done: ReadonlyMap<string, StepRecord>;
    readonly unchanged: ReadonlySet<string>;
  },
): readonly Step[] {
  const isSame = (id: string) => id !== retryFrom && given.unchanged.has(id);
  const isCompleted = (id: string) => given.done.get(id)?.status === "completed";
  // A step that was skipped is skipped again where all above it is the same.
  const isDone = (id: string) => isCompleted(id) || given.done.get(id)?.status === "skipped";
  return definition.steps.filter(
    ({ id }) =>
      isSame(id) &&
      isCompleted(id) &&
      stepsBefore(definition, id).every((above) => isSame(above) && isDone(above)),
  );
}

/** Returns the ids of the steps that are as they were in the version of the earlier run. */
async function findUnchanged(
  db: Db,
  { workflowId, version, definition }: ClaimedRun,
  { earlier, kinds }: { readonly earlier: EarlierRun; readonly kinds: StepKinds },
): Promise<ReadonlySet<string>> {
  if (earlier.version === version) return new Set(definition.steps.map(({ id }) => id));
  const { workflowId: workflow, version: number } = workflowVersions;
  const [found] = await db
    .select({ definition: workflowVersions.definition })
    .from(workflowVersions)
    .where(and(eq(workflow, workflowId), eq(number, earlier.version)));
  // Of a version that is gone nobody can say what is the same: everything is repeated.
  if (found === undefined) return new Set();
  return unchangedSteps(parseDefinition(found.definition, kinds).definition, definition);
}

async function readEarlier(db: Db, runId: string): Promise<EarlierRun> {
  const day = dayOfRun(runId);
  const { id, version, endedAt, rowsReceived, rowsDropped } = workflowRuns;
  const found =
    day === undefined
      ? []
      : await db
          .select({ id, day: workflowRuns.day, version, endedAt, rowsReceived, rowsDropped })
          .from(workflowRuns)
          .where(and(eq(workflowRuns.day, day), eq(id, runId)));
  const [earlier] = found;
  if (earlier === undefined) throw rowsAreGone(runId);
  return earlier;
}

/** Copies the outputs of one step. Returns the number of rows that the earlier run has. */
async function copyRows(
  claim: RunClaim,
  run: ClaimedRun,
  { earlier, stepId }: { readonly earlier: EarlierRun; readonly stepId: string },
): Promise<number> {
  const table = workflowRows;
  const isOutput = and(
    eq(table.day, earlier.day),
    eq(table.runId, earlier.id),
    eq(table.stepId, stepId),
    notLike(table.output, "$%"),
  );
  const [found] = await claim.db
    .select({
      rows: sql<number>`coalesce(sum(${table.rows}), 0)::float8`,
      last: sql<number>`coalesce(max(${table.chunk}), -1)`,
    })
    .from(table)
    .where(isOutput);
  const { rows = 0, last = -1 } = found ?? {};
  for (let first = 0; first <= last; first += COPIED_CHUNKS) {
    await claim.write(async (transaction) => {
      await transaction.execute(sql`
        insert into ${table} (day, run_id, step_id, output, chunk, rows, bytes, data)
        select ${run.day}::date, ${run.id}, step_id, output, chunk, rows, bytes, data from ${table}
        where ${isOutput} and chunk >= ${first} and chunk < ${first + COPIED_CHUNKS}
        on conflict do nothing`);
    });
  }
  return rows;
}

async function recordReuse(
  transaction: Db,
  run: ClaimedRun,
  { record, clock }: { readonly record: StepRecord; readonly clock: Clock },
): Promise<void> {
  const { rowsIn, rowsOut, rowErrors, outputs } = record;
  const now = new Date(clock.now());
  await updateStep(
    transaction,
    { run, stepId: record.stepId, from: ["pending"] },
    {
      ...{ rowsIn, rowsOut, rowErrors, outputs, status: "completed" },
      skippedBecause: `It was not repeated: its outputs are those of ${run.retryOf}.`,
      ...{ startedAt: now, endedAt: now },
    },
  );
}

function rowsAreGone(runId: string): StepFailure {
  return new StepFailure(
    "rows_dropped",
    `The rows of ${runId} are deleted, so it cannot be repeated from the middle. Start a new run.`,
  );
}
