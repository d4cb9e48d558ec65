import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ServiceError } from "../../core/service-error.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { openWorkers, type Workers, type WorkersLimits } from "../../lib/worker/open-workers.ts";
import { Turns } from "../../lib/worker/turns.ts";
import { WorkFailure } from "../../lib/worker/work-failure.ts";
import { type RowChunk, type StepInput, textOfRow } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { failureOf, OVER_SETS } from "./row-failure.ts";
import type { SentResult } from "./row-outputs.ts";
import type { Evaluated, RowJob, RowProcess, RowResult } from "./row-process.ts";
import type { SentJob } from "./row-work.ts";

const PROGRAM = fileURLToPath(new URL("./work-on-rows.ts", import.meta.url));
const MEMORY_BYTES = 512 * 1024 * 1024;
const IDLE_MS = 60_000;
/** What one output may have is bounded by whoever stores it. */
const OUTPUT_BYTES = Number.MAX_SAFE_INTEGER;
const CHECK_RETRY_SECONDS = 10;

const TIMES = {
  /** For programs that work row by row: more for one chunk means that an expression does not end. */
  silenceMs: 30_000,
  /** For programs over sets: the process is shared, whatever time the step has. */
  setsSilenceMs: 10 * 60_000,
  /** For `check` and `evaluate`, which share one process. */
  shortMs: 10_000,
  /** What a request that saves a workflow waits for its check, the wait for the process included. */
  checkWaitMs: 15_000,
};

export interface RowProcessOptions {
  /** ROW_PROCESSES */
  readonly processes: number;
  readonly times?: Partial<typeof TIMES>;
}

const NO_SCOPE = { trigger: {}, run: {} };

type StartLimits = Pick<WorkersLimits, "signal" | "timeMs" | "silenceMs" | "group">;

export function openRowProcess({ processes, times }: RowProcessOptions): RowProcess {
  const { silenceMs, setsSilenceMs, shortMs, checkWaitMs } = { ...TIMES, ...times };
  const kind = { program: PROGRAM, memoryBytes: MEMORY_BYTES, idleMs: IDLE_MS };
  const workers = openWorkers({ ...kind, processes });
  // Nobody who saves a workflow, or fills in texts, waits for the long jobs of others.
  const shortWorkers = openWorkers({ ...kind, processes: 1 });
  // Runs take turns; a check then waits for one evaluation at most, however many runs there are.
  const evaluations = new Turns(1);

  /** For jobs without inputs, whose results are values. */
  async function answer(
    program: string,
    settings: JsonObject,
    more: { readonly scope: RowJob["scope"] } & Pick<StartLimits, "signal" | "group">,
  ): Promise<unknown[]> {
    const job: RowJob = { program, settings, scope: more.scope, onRowError: "fail" };
    const values: unknown[] = [];
    for await (const result of start(shortWorkers, job, [], { ...more, timeMs: shortMs }))
      if (result.kind === "value") values.push(...(result.value as unknown[]));
    return values;
  }

  return {
    async *run(job, inputs, { owner, ...limits }) {
      const group = owner ?? undefined;
      const all = {
        ...{ ...limits, group },
        silenceMs: Math.min(limits.timeMs, OVER_SETS.has(job.program) ? setsSilenceMs : silenceMs),
      };
      for await (const result of start(workers, job, inputs, all)) {
        const told = resultOf(result);
        if (told !== undefined) yield told;
      }
    },
    async evaluate(templates, rows, scope, signal) {
      if (rows.length === 0) return [];
      const texts = rows.map(textOfRow);
      const settings = { templates: templates as unknown as JsonObject, rows: texts };
      const run = String(scope.run["id"]);
      await evaluations.enter(run, signal);
      try {
        const more = { scope, signal, group: "evaluate" };
        return (await answer("evaluate", settings, more)) as Evaluated[];
      } finally {
        evaluations.leave(run);
      }
    },
    async parse(text, asked, signal) {
      const settings = { text, ...asked };
      const job: RowJob = { program: "parse", settings, scope: NO_SCOPE, onRowError: "fail" };
      const limits = { signal, timeMs: shortMs, group: "parse" };
      let row: RowChunk | undefined;
      let value: unknown = null;
      for await (const result of start(shortWorkers, job, [], limits)) {
        if (result.kind === "value") value = result.value;
        const told = resultOf(result);
        if (told?.kind === "chunk") row = told.chunk;
      }
      return { row, value: value as JsonValue };
    },
    async rewrite(text, maxDepth, signal) {
      const job: RowJob = {
        program: "rewrite",
        settings: { text, maxDepth },
        scope: NO_SCOPE,
        onRowError: "fail",
      };
      const limits = { signal, timeMs: shortMs, group: "parse" };
      let rewritten = "";
      for await (const result of start(shortWorkers, job, [], limits))
        if (result.kind === "value") rewritten = result.value as string;
      return rewritten;
    },
    async check(expressions, owner) {
      if (expressions.length === 0) return [];
      const settings = { expressions: expressions as unknown as readonly JsonObject[] };
      const scope = NO_SCOPE;
      const group = `check ${owner ?? ""}`;
      return (await withinWait(checkWaitMs, (signal) =>
        answer("check", settings, { scope, signal, group }),
      )) as { field: string; message: string }[];
    },
    close() {
      workers.close();
      shortWorkers.close();
    },
  };
}

async function* start(
  workers: Workers,
  job: RowJob,
  inputs: readonly StepInput[],
  limits: StartLimits,
): AsyncGenerator<SentResult, void> {
  limits.signal.throwIfAborted();
  // Whatever becomes of the process, its temporary files go with the job.
  const folder = await mkdtemp(join(tmpdir(), `row-process-${process.pid}-`));
  const sent: SentJob = {
    ...job,
    inputs: inputs.map(({ name, rows, bytes }) => ({ name, rows, bytes })),
    folder,
  };
  const parts = inputs.map((input, index) => [String(index), dataOf(input)] as const);
  try {
    const all = { ...limits, outputBytes: OUTPUT_BYTES, inputs: Object.fromEntries(parts) };
    for await (const result of workers.run(sent, all)) yield result as SentResult;
  } catch (thrown) {
    if (!(thrown instanceof WorkFailure)) throw thrown;
    throw failureOf(thrown, job.program, { ...limits, memoryBytes: MEMORY_BYTES });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Rejects with `overloaded` when the check has no answer in time: the request does not hang. */
async function withinWait<Answer>(
  waitMs: number,
  check: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const controller = new AbortController();
  const late = new ServiceError(
    "overloaded",
    "The expressions and SQL of the workflow could not be checked in time. Send the request again; if it stays so, make them simpler or fewer.",
    { retryAfterSeconds: CHECK_RETRY_SECONDS },
  );
  const timer = setTimeout(() => controller.abort(late), waitMs);
  try {
    return await check(controller.signal);
  } catch (thrown) {
    // A process that was ended for its time gave no answer either.
    const isTime = thrown instanceof StepFailure && thrown.code === "row_process_time";
    throw isTime ? late : thrown;
  } finally {
    clearTimeout(timer);
  }
}

async function* dataOf(input: StepInput): AsyncGenerator<Uint8Array, void> {
  for await (const { data } of input.chunks()) yield data;
}

function resultOf(result: SentResult): RowResult | undefined {
  if (result.kind === "value") return undefined;
  if (result.kind !== "chunk") return result;
  const { rows, bytes, data, output } = result;
  return { kind: "chunk", output, chunk: { rows, bytes, data } };
}
