import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../lib/json.ts";
import { openWorkers } from "../../lib/worker/open-workers.ts";
import { WorkFailure } from "../../lib/worker/work-failure.ts";
import type { JobLimits } from "../../lib/worker/worker-process.ts";
import type { RowChunk, StepInput } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import type { SentResult } from "./row-outputs.ts";
import type { Evaluated, RowJob, RowProcess, RowResult } from "./row-process.ts";
import type { SentJob } from "./row-work.ts";

const PROGRAM = fileURLToPath(new URL("./work-on-rows.ts", import.meta.url));
const MEMORY_BYTES = 512 * 1024 * 1024;
const IDLE_MS = 60_000;
/** What one output may have is bounded by whoever stores it. */
const OUTPUT_BYTES = Number.MAX_SAFE_INTEGER;
/** For programs that work row by row: more for one chunk means that an expression does not end. */
const SILENCE_MS = 30_000;
const EVALUATE_MS = 30_000;
const CHECK_MS = 10_000;
/** Programs that are silent for long, because they work on all rows at once. */
const OVER_SETS: ReadonlySet<string> = new Set(["sql", "sort", "aggregate", "join", "read_file"]);

export interface RowProcessOptions {
  /** ROW_PROCESSES */
  readonly processes: number;
}

export function openRowProcess({ processes }: RowProcessOptions): RowProcess {
  const workers = openWorkers({
    program: PROGRAM,
    processes,
    memoryBytes: MEMORY_BYTES,
    idleMs: IDLE_MS,
  });

  async function* start(
    job: RowJob,
    inputs: readonly StepInput[],
    limits: Pick<JobLimits, "signal" | "timeMs" | "silenceMs">,
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
      throw thrown instanceof WorkFailure ? failureOf(thrown, job.program, limits) : thrown;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async function answer(
    program: string,
    settings: JsonObject,
    more: {
      readonly scope: RowJob["scope"];
      readonly signal: AbortSignal;
      readonly timeMs: number;
    },
  ): Promise<unknown[]> {
    const job: RowJob = { program, settings, scope: more.scope, onRowError: "fail" };
    const values: unknown[] = [];
    for await (const result of start(job, [], more))
      if (result.kind === "value") values.push(...(result.value as unknown[]));
    return values;
  }

  return {
    async *run(job, inputs, limits) {
      const silenceMs = OVER_SETS.has(job.program) ? limits.timeMs : SILENCE_MS;
      for await (const result of start(job, inputs, { ...limits, silenceMs })) {
        const told = resultOf(result);
        if (told !== undefined) yield told;
      }
    },
    async evaluate(templates, rows, scope, signal) {
      if (rows.length === 0) return [];
      const settings = { templates: templates as unknown as JsonObject, rows };
      const more = { scope, signal, timeMs: EVALUATE_MS };
      return (await answer("evaluate", settings, more)) as Evaluated[];
    },
    async check(expressions) {
      if (expressions.length === 0) return [];
      const settings = { expressions: expressions as unknown as readonly JsonObject[] };
      const scope = { trigger: {}, run: {} };
      const { signal } = new AbortController();
      const more = { scope, signal, timeMs: CHECK_MS };
      return (await answer("check", settings, more)) as { field: string; message: string }[];
    },
    close: workers.close,
  };
}

async function* dataOf(input: StepInput): AsyncGenerator<Uint8Array, void> {
  for await (const { data } of input.chunks()) yield data;
}

function resultOf(result: SentResult): RowResult | undefined {
  if (result.kind === "value") return undefined;
  if (result.kind !== "chunk") return result;
  const { rows, bytes, data, output } = result;
  const chunk: RowChunk = { rows, bytes, data: Buffer.from(data, "base64") };
  return { kind: "chunk", output, chunk };
}

/** The engine adds the step's name; the message names what the process did. */
function failureOf(
  failure: WorkFailure,
  program: string,
  { timeMs, silenceMs = timeMs }: Pick<JobLimits, "timeMs" | "silenceMs">,
): StepFailure {
  const { reason, code, message } = failure;
  const details = { cause: failure };
  switch (reason) {
    case "failed":
      // Without a code it is a fault of ours, or the end of the runtime's own limits.
      return code === null
        ? new StepFailure("row_process_crashed", `The ${program} work failed: ${message}`, details)
        : new StepFailure(code, message, details);
    case "time":
      return new StepFailure(
        "row_process_time",
        `The ${program} work took more than ${seconds(timeMs)} s in all, or ${seconds(silenceMs)} s for up to 1,000 rows, and was stopped. Simplify it, or raise timeout_seconds.`,
        details,
      );
    case "memory":
    case "output":
      return new StepFailure(
        "row_process_memory",
        `The ${program} work needed more than ${MEMORY_BYTES / 1024 / 1024} MiB of memory and was stopped. Work on smaller rows, or on fewer at once.`,
        details,
      );
    case "crashed":
      return new StepFailure(
        "row_process_crashed",
        `The process of the ${program} work ended early (${message})`,
        { ...details, isRetryable: true },
      );
    case "closed":
      return new StepFailure("row_process_crashed", "The server is stopping.", {
        ...details,
        isRetryable: true,
      });
  }
}

function seconds(ms: number): number {
  return Math.round(ms / 1_000);
}
