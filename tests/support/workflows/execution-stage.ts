import { and, eq, sql } from "drizzle-orm";
import { z } from "zod";
import { type Db, withTransaction } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import { users } from "../../../src/db/tables/users.ts";
import {
  workflowMarks,
  workflowRows,
  workflowRuns,
  workflows,
  workflowVersions,
} from "../../../src/db/tables/workflows.ts";
import { randomBase62 } from "../../../src/lib/id.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import { createLog } from "../../../src/lib/log.ts";
import { checkpointClaim, claimJobs, confirmClaim } from "../../../src/queue/claims.ts";
import { enqueue } from "../../../src/queue/enqueue.ts";
import { ClaimLost, type WorkContext } from "../../../src/queue/topic.ts";
import type { Step } from "../../../src/workflows/definition/definition.ts";
import {
  createExecution,
  type ExecutionStore,
} from "../../../src/workflows/execute/execute-run.ts";
import type { Pauses } from "../../../src/workflows/execute/retry-pause.ts";
import { readStepRecords } from "../../../src/workflows/execute/step-records.ts";
import { packRows } from "../../../src/workflows/rows/pack-rows.ts";
import { readStepRows } from "../../../src/workflows/rows/read-step-rows.ts";
import type { Row } from "../../../src/workflows/rows/row.ts";
import { insertChunks, MAIN, TRIGGER_STEP } from "../../../src/workflows/rows/row-store.ts";
import { type ClaimedRun, type RunEnd, StepFailure } from "../../../src/workflows/runs/run.ts";
import { newRunId, utcDay } from "../../../src/workflows/runs/run-id.ts";
import {
  defineStepKind,
  type StepContext,
  type StepKind,
} from "../../../src/workflows/steps/step-kind.ts";
import { openTestDatabase } from "../servers/databases/test-database.ts";
import { rowOf } from "./row-of.ts";

const LEASE_MS = 20_000;

/** Runs on a real database and a real claim, with kinds of steps that are made for tests. */
export interface ExecutionStage {
  readonly database: Database;
  readonly owner: string;
  /** Milliseconds of the pauses between tries; nothing waits. */
  readonly paused: number[];
  /** What the kinds `each` and `effect` did, in their order. */
  readonly ledger: string[];
  /** The clock is this far ahead. */
  aheadMs: number;
  readonly accept: (steps: readonly StepText[], more?: RunText) => Promise<ClaimedRun>;
  /** Claims the run and works on it. Rejects with the reason of `server`. */
  readonly work: (run: ClaimedRun, options?: WorkOptions) => Promise<Worked>;
  readonly steps: (run: ClaimedRun) => Promise<Record<string, StepView>>;
  readonly rows: (run: ClaimedRun, step: string, output?: string) => Promise<readonly Row[]>;
  readonly record: (run: ClaimedRun) => Promise<typeof workflowRuns.$inferSelect>;
  /** Names of the outputs that are stored, `step.output`. */
  readonly stored: (run: ClaimedRun) => Promise<readonly string[]>;
  readonly effects: (run: ClaimedRun) => Promise<number>;
  readonly close: () => Promise<void>;
}

export type StepText = Pick<Step, "id" | "kind"> & Partial<Step>;

export interface RunText extends Partial<ClaimedRun> {
  /** What the trigger brought; one empty row unless given. */
  readonly rows?: readonly Row[];
}

export interface WorkOptions {
  /** The claim is lost at this write, counted from 1. */
  readonly killAt?: number;
  /** Aborts when the server stops; the claim is still held then. */
  readonly server?: AbortSignal;
}

/** `killed`: the claim was lost before the run ended. */
export type Worked =
  | { readonly kind: "ended"; readonly end: RunEnd; readonly writes: number }
  | { readonly kind: "killed" };

export interface StepView {
  readonly status: string;
  readonly attempts: number;
  readonly rowsIn: number;
  readonly rowsOut: number;
  readonly rowErrors: number;
  readonly skippedBecause: string | null;
  readonly error: JsonObject | null;
  readonly usage: JsonObject | null;
}

export interface StageOptions {
  /** What waits between two tries; unless given nothing does, and `paused` has it. */
  readonly pauses?: Pauses;
  readonly kinds?: readonly StepKind[];
  readonly settings?: { readonly WORKFLOW_MAX_ROWS?: number; readonly WORKFLOW_MAX_BYTES?: number };
}

export async function openExecutionStage(options: StageOptions = {}): Promise<ExecutionStage> {
  const database = await openTestDatabase();
  const { db } = database;
  const ledger: string[] = [];
  const paused: number[] = [];
  const owner = `usr_${randomBase62(22)}`;
  await db.insert(users).values({ id: owner, username: "owner", role: "user" });
  const kinds = [...testKinds(ledger), ...(options.kinds ?? [])];
  const pauses: Pauses = {
    random: () => 0.5,
    pause: async (durationMs) => void paused.push(durationMs),
  };
  const store = {
    database,
    clock: { now: () => Date.now() + stage.aheadMs },
    log: createLog("fatal"),
    kinds: { list: kinds, find: (kind: string) => kinds.find((one) => one.kind === kind) },
    settings: {
      RUN_LEASE_MS: LEASE_MS,
      WORKFLOW_MAX_ROWS: 1_000_000,
      WORKFLOW_MAX_BYTES: 1024 ** 3,
      ...options.settings,
    },
  } as unknown as ExecutionStore;
  const execute = createExecution(store, options.pauses ?? pauses);
  const stage: ExecutionStage = {
    database,
    owner,
    paused,
    ledger,
    aheadMs: 0,
    accept: (steps, more) => acceptRun(db, owner, { steps, more }),
    async work(run, options = {}) {
      const { context, writes } = await claim(db, run, options);
      try {
        return { kind: "ended", end: await execute(run, context), writes: writes() };
      } catch (thrown) {
        if (!(thrown instanceof ClaimLost)) throw thrown;
        return { kind: "killed" };
      }
    },
    async steps(run) {
      const records = await readStepRecords(db, run);
      return Object.fromEntries(records) as unknown as Record<string, StepView>;
    },
    async rows({ day, id }, stepId, output = MAIN) {
      const place = { day, runId: id, stepId, output };
      const rows: Row[] = [];
      for await (const row of readStepRows((read) => read(db), place, { offset: 0 }))
        rows.push(row);
      return rows;
    },
    async record({ day, id }) {
      const isRun = and(eq(workflowRuns.day, day), eq(workflowRuns.id, id));
      const [record] = await db.select().from(workflowRuns).where(isRun);
      if (record === undefined) throw new Error("there is no such run");
      return record;
    },
    async stored({ id }) {
      const { stepId, output, runId } = workflowRows;
      const found = await db
        .selectDistinct({ stepId, output })
        .from(workflowRows)
        .where(eq(runId, id));
      return found.map((one) => `${one.stepId}.${one.output}`).sort();
    },
    effects: ({ id }) => db.$count(workflowMarks, eq(workflowMarks.runId, id)),
    close: () => database.close(),
  };
  return stage;
}

/** The step above is filled in, as the parser does. */
function fillSteps(steps: readonly StepText[]): Step[] {
  return steps.map((step, index) => {
    const above = steps[index - 1];
    return {
      from: above === undefined ? [] : [above.id],
      run_on_empty: false,
      retries: 2,
      on_row_error: "fail",
      settings: {},
      ...step,
    };
  });
}

async function acceptRun(
  db: Db,
  owner: string,
  given: { readonly steps: readonly StepText[]; readonly more: RunText | undefined },
): Promise<ClaimedRun> {
  const { rows = [{}], ...more } = given.more ?? {};
  const now = Date.now();
  const run: ClaimedRun = {
    ...{ id: newRunId(now), day: utcDay(now), workflowId: "wf_test", workflowName: "a test" },
    ...{ version: 1, trigger: { kind: "manual" }, rowsReceived: rows.length, ownerId: owner },
    ...{ keyId: null, chain: [], startedAt: now, timeoutSeconds: 3_600, keepRows: "all" },
    ...{ attempts: 1, retryOf: null, retryFrom: null },
    definition: { triggers: [], steps: fillSteps(given.steps) },
    ...more,
  };
  const { id, day, workflowId, workflowName, version, trigger, rowsReceived, retryOf, retryFrom } =
    run;
  await withTransaction(db, async (transaction) => {
    await storeVersion(transaction, run);
    await transaction.insert(workflowRuns).values({
      ...{ id, day, workflowId, workflowName, version, trigger, rowsReceived },
      ...{ retryOf, retryFrom, number: 1, status: "running", queuedAt: new Date(now) },
    });
    const place = { day, runId: id, stepId: TRIGGER_STEP, output: MAIN };
    let number = 0;
    if (retryOf === null) {
      for await (const chunk of packRows(rows)) {
        await insertChunks(transaction, place, [chunk], number);
        number += 1;
      }
    }
    await enqueue(transaction, { id: jobOf(run), topic: "runs", kind: "run", body: {} }, now);
  });
  return run;
}

/** Keeps the definition as its author sent it, so that a retry on another version can compare. */
async function storeVersion(
  transaction: Db,
  { workflowId, workflowName, version, definition }: ClaimedRun,
): Promise<void> {
  const steps = definition.steps.map(({ settings, ...step }) => ({ ...step, ...settings }));
  const stored = { triggers: [], steps } as unknown as JsonObject;
  await transaction
    .insert(workflows)
    .values({ id: workflowId, name: workflowName, definition: stored })
    .onConflictDoNothing();
  await transaction
    .insert(workflowVersions)
    .values({ workflowId, version, definition: stored })
    .onConflictDoUpdate({
      target: [workflowVersions.workflowId, workflowVersions.version],
      set: { definition: stored },
    });
}

function jobOf({ id }: ClaimedRun): string {
  return `evt_${id.slice(4)}`;
}

/** A claim of the queue. Whoever held the job before has lost it. */
async function claim(db: Db, run: ClaimedRun, { killAt, server }: WorkOptions) {
  await db.execute(
    sql`update outbox_events set lease_until = now() - interval '1 second' where id = ${jobOf(run)} and lease_until is not null`,
  );
  const jobs = await claimJobs(db, "runs", {
    limit: 50,
    now: Date.now() + 1_000,
    leaseMs: LEASE_MS,
  });
  const job = jobs.find(({ id }) => id === jobOf(run));
  if (job === undefined) throw new Error("the run's job was not claimed");
  const abort = new AbortController();
  server?.addEventListener("abort", () => abort.abort(server.reason), { once: true });
  let writes = 0;
  const until = async (keep: () => Promise<void>) => {
    writes += 1;
    // Not the transaction's business: the other worker's claim is already committed.
    if (killAt !== undefined && writes >= killAt) {
      const lost = new ClaimLost("another worker has claimed the run");
      abort.abort(lost);
      throw lost;
    }
    await keep();
  };
  const context: WorkContext = {
    signal: abort.signal,
    checkpoint: (transaction) => until(() => checkpointClaim(transaction, job, LEASE_MS)),
    confirm: (transaction) => until(() => confirmClaim(transaction, job)),
  };
  return { context, writes: () => writes };
}

const anything = z.looseObject({}) as unknown as z.ZodType<JsonObject>;

function kindOf(
  kind: string,
  run: (context: StepContext) => ReturnType<StepKind["run"]>,
  more: Partial<StepKind> = {},
): StepKind {
  return defineStepKind({
    ...{ kind, group: "transform", label: kind, help: kind, example: {}, schema: anything, run },
    ...more,
  });
}

/** Tiny kinds: sources, transforms, sinks, and what goes wrong. */
function testKinds(ledger: string[]): readonly StepKind[] {
  const pass = async ({ inputs, output }: StepContext) => {
    for (const input of inputs) {
      for await (const chunk of input.chunks()) await output().chunk(chunk);
    }
    return undefined;
  };
  return [
    kindOf("input", pass, { group: "source" }),
    kindOf("pass", pass),
    kindOf(
      "make",
      async ({ settings, output }) => {
        for (let n = 1; n <= Number(settings["rows"]); n += 1) await output().push({ n });
        return undefined;
      },
      { group: "source" },
    ),
    kindOf("names", async ({ inputs, output }) => {
      for (const { name, rows } of inputs) await output().push({ name, rows });
      return undefined;
    }),
    kindOf("none", async () => undefined),
    kindOf(
      "split",
      async ({ inputs, output }) => {
        const isEven = (row: Row) => Number(row["n"]) % 2 === 0;
        for (const input of inputs) {
          for await (const chunk of input.chunks()) {
            const { unpackRows } = await import("../../../src/workflows/rows/pack-rows.ts");
            for (const row of await unpackRows(chunk)) {
              await output(isEven(row) ? "main" : "else").push(row);
            }
          }
        }
        return undefined;
      },
      { outputs: () => ["else"] },
    ),
    kindOf(
      "break",
      async ({ settings, output, inputs }) => {
        const rows = inputs.reduce((sum, input) => sum + input.rows, 0);
        const isMet = settings["break_on"] === "empty" ? rows === 0 : rows > 0;
        const as = settings["as"] === "failed" ? "failed" : "completed";
        if (isMet) return { breaks: { as, message: "enough" } };
        return pass({ inputs, output } as StepContext);
      },
      { group: "control", runsOnEmpty: ({ break_on }) => break_on === "empty" },
    ),
    kindOf("fail", async ({ settings, attempt, step, output }) => {
      const waiting = Number(settings["waiting"] ?? 0);
      const waits = () => ledger.filter((entry) => entry.endsWith("waits")).length;
      while (waits() < waiting) await new Promise((resolve) => setTimeout(resolve, 1));
      ledger.push(`${step.id}#${attempt}`);
      await output().push({ attempt });
      const failures = Number(settings["failures"] ?? 99);
      if (attempt > failures) return undefined;
      const { code = "broken", retryable = false, after } = settings as Record<string, never>;
      throw new StepFailure(code, "It is broken.", {
        isRetryable: retryable,
        retryAfterSeconds: after,
      });
    }),
    kindOf("hang", ({ signal, step }) => {
      ledger.push(`${step.id} waits`);
      return new Promise((_, reject) => {
        const end = () => {
          ledger.push(`${step.id} aborted`);
          reject(signal.reason);
        };
        if (signal.aborted) end();
        else signal.addEventListener("abort", end, { once: true });
      });
    }),
    kindOf("each", async ({ eachRow, settings, step, addUsage }) => {
      await eachRow({
        concurrency: Number(settings["concurrency"] ?? 2),
        work: async ({ row, number, idempotencyKey }) => {
          ledger.push(`${step.id}:${number}`);
          addUsage({ calls: 1 });
          if (rowOf(row)["bad"] === true) throw new StepFailure("bad_row", "The row is bad.");
          if (settings["slow"] === true) await new Promise((resolve) => setTimeout(resolve, 1));
          return [{ ...rowOf(row), key: idempotencyKey }];
        },
      });
      return undefined;
    }),
    kindOf(
      "effect",
      async ({ inputs, output, commit, run, step }) => {
        ledger.push(step.id);
        await commit(async (transaction) => {
          await pass({ inputs, output } as StepContext);
          const subject = `${step.id} ${randomBase62(10)}`;
          const mark = { kind: "file" as const, subject, runId: run.id, chain: [] };
          await transaction.insert(workflowMarks).values(mark);
        });
        return undefined;
      },
      { group: "sink" },
    ),
  ];
}
