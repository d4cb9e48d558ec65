import type { Clock } from "../../lib/time/clock.ts";
import { packRows, unpackRows } from "../rows/pack-rows.ts";
import {
  ERROR_FIELD,
  type MadeRow,
  type Row,
  type RowChunk,
  type RowError,
  type StepInput,
  textOfRow,
  textWithField,
} from "../rows/row.ts";
import { MAIN } from "../rows/row-store.ts";
import { type ClaimedRun, rowFailure, StepFailure } from "../runs/run.ts";
import { newRunId, utcDay } from "../runs/run-id.ts";
import type { OutputWriter, RowWork, StepContext, StepEnd, StepKind } from "../steps/step-kind.ts";
import type { Definition, Step } from "./definition.ts";

/** Rows and bytes of JSON that one test shows; a step that makes more is stopped. */
const MAX_ROWS = 1_000;
const MAX_BYTES = 1024 * 1024;
const MAX_TOLD = 1_000;
const MAX_SECONDS = 60;

export interface StepTest {
  readonly kind: StepKind;
  readonly step: Step;
  readonly definition: Definition;
  readonly workflow: {
    readonly id: string;
    readonly name: string;
    readonly version: number;
    readonly ownerId: string | null;
    readonly keyId: string | null;
  };
  /** The rows of each input, by its name. */
  readonly inputs: ReadonlyMap<string, readonly Row[]>;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

export interface StepTestResult {
  readonly outputs: Readonly<Record<string, readonly Row[]>>;
  readonly rowErrors: readonly RowError[];
  /** What a sink would do. */
  readonly told: readonly string[];
  readonly usage: {
    readonly calls: number;
    readonly inputTokens: number;
    readonly outputTokens: number;
  };
  /** How a `flow_break` would end the run. */
  readonly breaks: StepEnd["breaks"] | null;
  /** Why the step failed. */
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly row: number | null;
  } | null;
  /** The step made more rows than are shown, and was stopped. */
  readonly truncated: boolean;
}

/** Ends a step that has shown enough. */
class EnoughShown extends Error {
  override readonly name = "EnoughShown";
}

/** Runs one step once, in memory and outside any run: sinks only report what they would do. */
export async function testStep(clock: Clock, test: StepTest): Promise<StepTestResult> {
  const seconds = Math.min(test.step.timeout_seconds ?? MAX_SECONDS, MAX_SECONDS);
  const enough = new AbortController();
  const late = AbortSignal.timeout(seconds * 1_000);
  const signal = AbortSignal.any([test.signal, late, enough.signal]);
  const stage = new TestStage(test, signal, enough);
  try {
    const context = await stage.context(clock.now(), seconds * 1_000);
    const end = await test.kind.run(context);
    return stage.result({ breaks: end?.breaks ?? null });
  } catch (thrown) {
    if (enough.signal.aborted) return stage.result({ truncated: true });
    if (late.aborted) {
      const message = `The step took longer than ${seconds} s. Test it with fewer rows.`;
      return stage.result({ error: { code: "step_timeout", message, row: null } });
    }
    if (!(thrown instanceof StepFailure)) throw thrown;
    const { code, message, row = null } = thrown;
    return stage.result({ error: { code, message, row } });
  }
}

class TestStage {
  readonly #test: StepTest;
  readonly #signal: AbortSignal;
  readonly #enough: AbortController;
  readonly #outputs = new Map<string, Row[]>([[MAIN, []]]);
  readonly #rowErrors: RowError[] = [];
  readonly #told: string[] = [];
  readonly #usage = { calls: 0, inputTokens: 0, outputTokens: 0 };
  #rows = 0;
  #bytes = 0;

  constructor(test: StepTest, signal: AbortSignal, enough: AbortController) {
    this.#test = test;
    this.#signal = signal;
    this.#enough = enough;
  }

  async context(now: number, timeMs: number): Promise<StepContext> {
    const { step, inputs } = this.#test;
    const run = this.#run(now);
    const { id, workflowId, workflowName } = run;
    const started_at = new Date(now).toISOString();
    return {
      ...{ run, step, settings: step.settings, attempt: 1, timeMs, isTest: true },
      inputs: await Promise.all([...inputs].map(([name, rows]) => inputOf(name, rows))),
      scope: {
        trigger: run.trigger,
        run: { id, workflow_id: workflowId, workflow_name: workflowName, started_at },
      },
      signal: this.#signal,
      tell: (text) => {
        if (this.#told.length < MAX_TOLD) this.#told.push(text);
      },
      output: (name = MAIN) => this.#writer(name),
      take: async (result) => {
        if (result.kind === "chunk") await this.#writer(result.output).chunk(result.chunk);
        if (result.kind === "row_errors") this.#count(result.first);
      },
      reject: (error, row) => this.#reject(error, row),
      addUsage: ({ calls = 0, inputTokens = 0, outputTokens = 0 }) => {
        this.#usage.calls += calls;
        this.#usage.inputTokens += inputTokens;
        this.#usage.outputTokens += outputTokens;
      },
      eachRow: (work) => this.#eachRow(id, work),
      // Nothing is stored, so the effect has no transaction to stand in.
      commit: async () => undefined,
    };
  }

  result(end: Partial<Pick<StepTestResult, "breaks" | "error" | "truncated">>): StepTestResult {
    return {
      ...{ breaks: null, error: null, truncated: false },
      ...end,
      outputs: Object.fromEntries(this.#outputs),
      rowErrors: this.#rowErrors,
      told: this.#told,
      usage: this.#usage,
    };
  }

  #run(now: number): ClaimedRun {
    const { workflow, definition, step, inputs } = this.#test;
    const { id: workflowId, name: workflowName, version, ownerId, keyId } = workflow;
    return {
      ...{ workflowId, workflowName, version, ownerId, keyId, definition },
      ...{ id: newRunId(now), day: utcDay(now), startedAt: now },
      trigger: { kind: "manual", test: step.id },
      rowsReceived: [...inputs.values()].reduce((sum, rows) => sum + rows.length, 0),
      ...{ chain: [], attempts: 1, timeoutSeconds: MAX_SECONDS, keepRows: "none" },
      ...{ retryOf: null, retryFrom: null },
    };
  }

  #writer(name: string): OutputWriter {
    const rows = this.#outputs.get(name) ?? [];
    this.#outputs.set(name, rows);
    const push = (row: Row) => {
      this.#rows += 1;
      this.#bytes += Buffer.byteLength(JSON.stringify(row));
      if (this.#rows > MAX_ROWS || this.#bytes > MAX_BYTES) {
        this.#enough.abort(new EnoughShown());
        this.#enough.signal.throwIfAborted();
      }
      rows.push(row);
    };
    return {
      push: async (row) => push(typeof row === "string" ? (JSON.parse(row) as Row) : row),
      chunk: async (chunk) => (await unpackRows(chunk)).forEach(push),
    };
  }

  async #reject(error: RowError, row: MadeRow): Promise<void> {
    this.#count(error);
    if (this.#test.step.on_row_error !== "route") return;
    await this.#writer("errors").push(
      textWithField(textOfRow(row), ERROR_FIELD, JSON.stringify(error)),
    );
  }

  #count(error: RowError): void {
    if (this.#rowErrors.length < MAX_ROWS) this.#rowErrors.push(error);
    if (this.#test.step.on_row_error === "fail") throw rowFailure(error);
  }

  async #eachRow(runId: string, work: RowWork): Promise<void> {
    const rows = [...this.#test.inputs.values()].flat();
    const texts = rows.map(textOfRow);
    const prepared = rows.length === 0 ? [] : await work.prepare?.(texts, this.#signal);
    const results = new Map<number, readonly MadeRow[] | RowError>();
    const numbers = rows.keys();
    const lane = async (): Promise<void> => {
      for (const at of numbers) {
        this.#signal.throwIfAborted();
        const number = at + 1;
        results.set(
          at,
          await this.#workOn(work, {
            row: texts[at] ?? "{}",
            number,
            prepared: prepared?.[at],
            idempotencyKey: `${runId}:${this.#test.step.id}:${number}`,
            signal: this.#signal,
            repeat: (work) => work(),
          }),
        );
      }
    };
    await Promise.all(Array.from({ length: work.concurrency }, lane));
    for (const [at, row] of rows.entries()) {
      const result = results.get(at) ?? [];
      if ("code" in result) await this.#reject(result, row);
      else for (const made of result) await this.#writer(MAIN).push(made);
    }
  }

  async #workOn(
    work: RowWork,
    item: Parameters<RowWork["work"]>[0],
  ): Promise<readonly MadeRow[] | RowError> {
    const { prepared, number } = item;
    if (typeof prepared === "object" && prepared !== null && "error" in prepared) {
      return { row: number, ...(prepared.error as Omit<RowError, "row">) };
    }
    try {
      return await work.work(item);
    } catch (thrown) {
      if (!(thrown instanceof StepFailure)) throw thrown;
      return { row: number, code: thrown.code, message: thrown.message };
    }
  }
}

async function inputOf(name: string, rows: readonly Row[]): Promise<StepInput> {
  const chunks: RowChunk[] = [];
  for await (const chunk of packRows(rows)) chunks.push(chunk);
  return {
    name,
    rows: rows.length,
    bytes: chunks.reduce((sum, { bytes }) => sum + bytes, 0),
    async *chunks() {
      yield* chunks;
    },
  };
}
