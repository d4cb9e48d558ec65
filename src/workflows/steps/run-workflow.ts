import { eq, inArray, sql } from "drizzle-orm";
import { z } from "zod";
import type { Db } from "../../db/context.ts";
import { workflows } from "../../db/tables/workflows.ts";
import { mayUse } from "../../knowledge/rights.ts";
import { unpackRows } from "../rows/pack-rows.ts";
import type { Row } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import {
  type CheckContext,
  defineStepKind,
  type FieldFault,
  type StepContext,
  type StepKind,
} from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

/** What a run may receive at once, as from a webhook. */
const MAX_ROWS = 100_000;
const MAX_BYTES = 32 * 1024 * 1024;
/** Workflows that are looked through for a circle of waits. */
const MAX_FOLLOWED = 1_000;

const schema = z.strictObject({
  workflow: z.string().min(1).max(64),
  wait: z.boolean().default(true),
});

type Settings = z.output<typeof schema>;

export function runWorkflowStep({
  childRuns,
  database,
}: Pick<StepServices, "childRuns" | "database">): StepKind {
  return defineStepKind<Settings>({
    kind: "run_workflow",
    group: "control",
    label: "Run workflow",
    help: "Starts another workflow with all rows as one run, waits for its end unless `wait` is false, and passes the rows on; the output `run` has one row with `runId`, `workflow` and `status`.",
    example: { workflow: "wf_0123456789abcdefghijkl", wait: true },
    schema,
    outputs: () => ["run"],
    check: (settings, context) => database.askOwn((db) => findFaults(db, settings, context)),
    async run(context) {
      if (context.isTest) {
        const rows = context.inputs.reduce((sum, input) => sum + input.rows, 0);
        context.tell(`would start a run of ${context.settings.workflow} with ${rows} rows`);
      } else await startRun(childRuns, context);
      for (const { chunks } of context.inputs) {
        for await (const chunk of chunks()) await context.output().chunk(chunk);
      }
      return undefined;
    },
  });
}

async function startRun(
  childRuns: StepServices["childRuns"],
  context: StepContext<Settings>,
): Promise<void> {
  const { run, step, settings, signal } = context;
  const { workflow, wait } = settings;
  const { runId } = await childRuns.start({
    parent: run,
    workflowId: workflow,
    rows: await readRows(context),
    // The same run is found when the step is repeated, so it starts once.
    idempotencyKey: `${run.id}:${step.id}`,
  });
  const status = wait ? await childRuns.wait(runId, signal) : "started";
  if (wait && status !== "completed") {
    throw new StepFailure(
      "child_run_failed",
      `The run ${runId} of the workflow ${workflow} is ${status}. Its record says why; set 'wait' to false to go on anyway.`,
    );
  }
  await context.output("run").push({ runId, workflow, status });
}

/** All rows at once, because they are accepted in one transaction. */
async function readRows({ inputs }: StepContext<Settings>): Promise<readonly Row[]> {
  const count = inputs.reduce((sum, input) => sum + input.rows, 0);
  const bytes = inputs.reduce((sum, input) => sum + input.bytes, 0);
  if (count > MAX_ROWS || bytes > MAX_BYTES) {
    throw new StepFailure(
      "too_many_rows",
      `${count} rows of ${bytes} bytes are more than a run can receive, ${MAX_ROWS} rows and ${MAX_BYTES} bytes. Write them to a dataset that the other workflow reads.`,
    );
  }
  const rows: Row[] = [];
  for (const { chunks } of inputs) {
    for await (const chunk of chunks()) for (const row of await unpackRows(chunk)) rows.push(row);
  }
  return rows;
}

async function findFaults(
  db: Db,
  { workflow, wait }: Settings,
  { owner, workflowId }: CheckContext,
): Promise<readonly FieldFault[]> {
  const { id, ownerId, visibility } = workflows;
  const [found] = await db.select({ ownerId, visibility }).from(workflows).where(eq(id, workflow));
  const fault = (message: string) => [{ field: "workflow", message }];
  if (found === undefined || !mayUse(found, owner)) {
    return fault(`There is no workflow '${workflow}' that the owner of this one may start.`);
  }
  if (workflow === workflowId) return fault("A workflow cannot start itself. Name another one.");
  if (!wait || workflowId === null || !(await waitsFor(db, workflow, workflowId))) return [];
  return fault(
    `The workflow '${workflow}' waits for runs of this one, itself or through others, so both could wait for ever. Set 'wait' to false in one of them.`,
  );
}

/**
 * Whether runs of a workflow wait for runs of another one, over any number of workflows between them. The chain of a run
 * shows only what led to it: two runs that wait for each other's queues would both stand until their time is up.
 */
async function waitsFor(db: Db, from: string, target: string): Promise<boolean> {
  const seen = new Set([from]);
  let next = [from];
  while (next.length > 0 && seen.size < MAX_FOLLOWED) {
    const found = await readAwaited(db, next);
    if (found.includes(target)) return true;
    next = found.filter((id) => !seen.has(id));
    for (const id of next) seen.add(id);
  }
  return false;
}

/** The workflows whose runs these wait for. */
async function readAwaited(db: Db, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await db
    .select({
      awaited: sql<unknown>`jsonb_path_query_array(${workflows.definition}::jsonb,
        '$.steps[*] ? (@.kind == "run_workflow" && !(@.wait == false)).workflow')`,
    })
    .from(workflows)
    .where(inArray(workflows.id, [...ids]));
  const found = rows.flatMap(({ awaited }) => (Array.isArray(awaited) ? awaited : []));
  return [...new Set(found.map(String))];
}
