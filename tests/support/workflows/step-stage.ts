import type { Db } from "../../../src/db/context.ts";
import type { Database } from "../../../src/db/database.ts";
import type { JsonObject } from "../../../src/lib/json/json.ts";
import type { OnRowError, Step } from "../../../src/workflows/definition/definition.ts";
import { repeat } from "../../../src/workflows/execute/repeat.ts";
import type { Pauses } from "../../../src/workflows/execute/retry-pause.ts";
import type { RowResult } from "../../../src/workflows/row-process/row-process.ts";
import { packRows, RowTooLarge, unpackRows } from "../../../src/workflows/rows/pack-rows.ts";
import {
  ERROR_FIELD,
  MAX_ROW_BYTES,
  type MadeRow,
  type Row,
  type RowChunk,
  type RowError,
  type StepInput,
  textOfRow,
} from "../../../src/workflows/rows/row.ts";
import { type ClaimedRun, rowFailure, StepFailure } from "../../../src/workflows/runs/run.ts";
import { newRunId, utcDay } from "../../../src/workflows/runs/run-id.ts";
import type {
  OutputWriter,
  RowWork,
  StepContext,
  StepEnd,
  StepKind,
  StepUsage,
} from "../../../src/workflows/steps/step-kind.ts";
import { rowOf } from "./row-of.ts";

export interface StepCase {
  /** The kind's own fields; they go through its schema. */
  readonly settings?: JsonObject;
  /** The rows of one input, named `rows`. */
  readonly rows?: readonly Row[];
  /** Several inputs by name, instead of `rows`. */
  readonly inputs?: Readonly<Record<string, readonly Row[]>>;
  readonly onRowError?: OnRowError;
  /** How often a row is repeated after a retryable failure, without a pause; default 2. */
  readonly retries?: number;
  readonly stepId?: string;
  readonly attempt?: number;
  /** What expressions see as `trigger`; default `{kind: "manual"}`. */
  readonly trigger?: ClaimedRun["trigger"];
  readonly run?: Partial<ClaimedRun>;
  readonly signal?: AbortSignal;
  readonly timeMs?: number;
  readonly isTest?: boolean;
  /** Where `commit` has its transaction. */
  readonly database?: Pick<Database, "db">;
  /** What `eachRow` has finished. A second call with the same one does only the other rows, as after a takeover. */
  readonly finished?: Map<number, readonly MadeRow[] | RowError>;
}

export interface StepOutcome {
  /** The rows of every output that was opened or written; `main` is always there. */
  readonly outputs: Readonly<Record<string, readonly Row[]>> & { readonly main: readonly Row[] };
  /** The number of rows that the step could not take. */
  readonly rowErrors: number;
  readonly firstRowError: RowError | undefined;
  readonly end: StepEnd | undefined;
  readonly told: readonly string[];
  readonly usage: StepUsage;
  /** True when the step ended with `commit`. */
  readonly committed: boolean;
}

const NO_PAUSES: Pauses = { pause: async () => undefined, random: () => 0.5 };

/** Runs one step without an engine, in memory. Rejects with what the step threw. */
export async function runStep(kind: StepKind, given: StepCase = {}): Promise<StepOutcome> {
  const stage = new Stage(kind, given);
  const end = await kind.run(await stage.context());
  return stage.outcome(end);
}

/** Rows as a step's input. */
export async function inputOf(name: string, rows: readonly Row[]): Promise<StepInput> {
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

/** A run as a worker has it. */
function claimedRun(step: Step, more: Partial<ClaimedRun> = {}): ClaimedRun {
  const now = Date.now();
  return {
    id: newRunId(now),
    day: utcDay(now),
    workflowId: "wf_stage",
    workflowName: "a stage",
    version: 1,
    definition: { triggers: [], steps: [step] },
    trigger: { kind: "manual" },
    rowsReceived: 1,
    ownerId: null,
    keyId: null,
    chain: [],
    startedAt: now,
    timeoutSeconds: 3_600,
    keepRows: "all",
    attempts: 1,
    retryOf: null,
    retryFrom: null,
    ...more,
  };
}

class Stage {
  readonly #kind: StepKind;
  readonly #given: StepCase;
  readonly #step: Step;
  readonly #outputs = new Map<string, Row[]>([["main", []]]);
  readonly #told: string[] = [];
  readonly #usage = { calls: 0, inputTokens: 0, outputTokens: 0 };
  #rowErrors = 0;
  #firstRowError: RowError | undefined;
  #isCommitted = false;

  constructor(kind: StepKind, given: StepCase) {
    this.#kind = kind;
    this.#given = given;
    this.#step = {
      id: given.stepId ?? "step",
      kind: kind.kind,
      from: Object.keys(given.inputs ?? { rows: [] }),
      run_on_empty: false,
      retries: given.retries ?? 2,
      on_row_error: given.onRowError ?? "fail",
      settings: kind.schema.parse(given.settings ?? {}),
    };
  }

  async context(): Promise<StepContext> {
    const { trigger = { kind: "manual" }, inputs = { rows: this.#given.rows ?? [] } } = this.#given;
    const run = claimedRun(this.#step, { trigger, ...this.#given.run });
    const { id, workflowId, workflowName, startedAt } = run;
    const started_at = new Date(startedAt).toISOString();
    return {
      run,
      step: this.#step,
      settings: this.#step.settings,
      attempt: this.#given.attempt ?? 1,
      inputs: await Promise.all(Object.entries(inputs).map(([name, rows]) => inputOf(name, rows))),
      scope: {
        trigger,
        run: { id, workflow_id: workflowId, workflow_name: workflowName, started_at },
      },
      signal: this.#signal(),
      timeMs: this.#given.timeMs ?? 60_000,
      isTest: this.#given.isTest ?? false,
      tell: (text) => this.#told.push(text),
      output: (name = "main") => this.#writer(name),
      take: (result) => this.#take(result),
      reject: (error, row) => this.#reject(error, rowOf(row)),
      addUsage: (more) => {
        this.#usage.calls += more.calls ?? 0;
        this.#usage.inputTokens += more.inputTokens ?? 0;
        this.#usage.outputTokens += more.outputTokens ?? 0;
      },
      eachRow: (work) => this.#eachRow(run, inputs, work),
      commit: (effect) => this.#commit(effect),
    };
  }

  outcome(end: StepEnd | undefined): StepOutcome {
    return {
      outputs: { main: [], ...Object.fromEntries(this.#outputs) },
      rowErrors: this.#rowErrors,
      firstRowError: this.#firstRowError,
      end,
      told: this.#told,
      usage: this.#usage,
      committed: this.#isCommitted,
    };
  }

  #signal(): AbortSignal {
    return this.#given.signal ?? new AbortController().signal;
  }

  #writer(name: string): OutputWriter {
    const known = ["main", "errors", ...(this.#kind.outputs?.(this.#step.settings) ?? [])];
    if (!known.includes(name)) throw new Error(`the step has no output "${name}"`);
    const rows = this.#outputs.get(name) ?? [];
    this.#outputs.set(name, rows);
    return {
      push: async (row) => {
        const text = textOfRow(row);
        if (Buffer.byteLength(text) > MAX_ROW_BYTES) {
          throw new StepFailure("row_too_large", new RowTooLarge().message);
        }
        rows.push(JSON.parse(text) as Row);
      },
      chunk: async (chunk) => {
        for (const row of await unpackRows(chunk)) rows.push(row);
      },
    };
  }

  async #take(result: RowResult): Promise<void> {
    if (result.kind === "chunk") await this.#writer(result.output).chunk(result.chunk);
    if (result.kind !== "row_errors") return;
    this.#count(result.count, result.first);
  }

  async #reject(error: RowError, row: Row): Promise<void> {
    this.#count(1, error);
    if (this.#step.on_row_error !== "route") return;
    await this.#writer("errors").push({ ...row, [ERROR_FIELD]: { ...error } });
  }

  #count(count: number, first: RowError): void {
    this.#rowErrors += count;
    this.#firstRowError ??= first;
    if (this.#step.on_row_error === "fail") throw rowFailure(first);
  }

  async #commit(effect: (transaction: Db) => Promise<void>): Promise<void> {
    const { database } = this.#given;
    if (database === undefined) throw new Error("a step that commits needs a `database`");
    await database.db.transaction((transaction) => effect(transaction));
    this.#isCommitted = true;
  }

  async #eachRow(
    run: ClaimedRun,
    inputs: Readonly<Record<string, readonly Row[]>>,
    work: RowWork,
  ): Promise<void> {
    const signal = this.#signal();
    const rows = Object.values(inputs).flat();
    const texts = rows.map(textOfRow);
    const prepared = rows.length === 0 ? [] : await work.prepare?.(texts, signal);
    const finished = this.#given.finished ?? new Map<number, readonly MadeRow[] | RowError>();
    const finish = async (number: number): Promise<void> => {
      const ready = prepared?.[number - 1];
      const fault = faultOf(ready);
      if (fault !== undefined) {
        finished.set(number, { row: number, ...fault });
        return;
      }
      const row = texts[number - 1] ?? "{}";
      const idempotencyKey = `${run.id}:${this.#step.id}:${number}`;
      const retrying = { retries: this.#step.retries, pauses: NO_PAUSES, signal };
      const item = {
        ...{ row, number, prepared: ready, idempotencyKey, signal },
        repeat: <Result>(shared: () => Promise<Result>) => repeat(shared, retrying),
      };
      finished.set(number, await this.#tryRow(work, item));
    };
    const waiting = rows.map((_, index) => index + 1).filter((number) => !finished.has(number));
    const lane = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        signal.throwIfAborted();
        await finish(next);
      }
    };
    await Promise.all(Array.from({ length: work.concurrency }, lane));
    for (const [index, row] of rows.entries()) {
      const result = finished.get(index + 1) ?? [];
      if (!isRows(result)) await this.#reject(result, row);
      else for (const made of result) await this.#writer("main").push(made);
    }
  }

  async #tryRow(
    work: RowWork,
    item: Parameters<RowWork["work"]>[0],
  ): Promise<readonly MadeRow[] | RowError> {
    try {
      return await item.repeat(() => work.work(item));
    } catch (thrown) {
      if (!(thrown instanceof StepFailure)) throw thrown;
      return { row: item.number, code: thrown.code, message: thrown.message };
    }
  }
}

function isRows(result: readonly MadeRow[] | RowError): result is readonly MadeRow[] {
  return Array.isArray(result);
}

/** What `prepare` returns for a row that it could not prepare: `{error}` and nothing else. */
function faultOf(prepared: unknown): Omit<RowError, "row"> | undefined {
  if (typeof prepared !== "object" || prepared === null || !("error" in prepared)) return undefined;
  return prepared.error as Omit<RowError, "row">;
}
