import type { Db } from "../../db/context.ts";
import type { RowResult } from "../row-process/row-process.ts";
import {
  ERROR_FIELD,
  MAX_ROW_BYTES,
  type MadeRow,
  type RowError,
  type StepInput,
  textOfRow,
  textWithField,
} from "../rows/row.ts";
import { MAIN, type OutputPlace, readChunks } from "../rows/row-store.ts";
import { rowFailure } from "../runs/run.ts";
import type { RowWork, StepContext, StepEnd, StepUsage } from "../steps/step-kind.ts";
import { RowLoop, type RowLoopOptions } from "./row-loop.ts";
import { deleteProgress, type ProgressState, RowProgress } from "./row-progress.ts";
import { scopeOf } from "./run-scope.ts";
import { deleteOutputs, StepOutputs } from "./step-outputs.ts";
import { addRetries, beginTry, figuresOf, recordBreak, updateStep } from "./step-records.ts";
import type { StepWork } from "./step-work.ts";

/** The step was ended by somebody else in the meantime, so that its effect must not happen. */
class StepEnded extends Error {
  override readonly name = "StepEnded";
}

/** One try of a step. */
export class StepAttempt {
  readonly #work: StepWork;
  readonly #signal: AbortSignal;
  readonly #place: Omit<OutputPlace, "output">;
  readonly #outputs: StepOutputs;
  readonly #progress: RowProgress;
  /** The transaction in which the step ends, while it does. */
  #transaction: Db | undefined;
  #rowErrors: number;
  #usage: StepUsage;
  #hasLooped = false;
  #isCommitted = false;
  #closedFor: { readonly reason: unknown } | undefined;
  /** The transaction that ends the step, from where it is not given up any more. */
  #ending: Promise<void> | undefined;

  private constructor(work: StepWork, signal: AbortSignal, progress: RowProgress) {
    const { run, step, kind, settings } = work;
    this.#work = work;
    this.#signal = signal;
    this.#place = { day: run.day, runId: run.id, stepId: step.id };
    this.#progress = progress;
    this.#rowErrors = progress.state.rowErrors;
    this.#usage = work.usage;
    const errors = step.on_row_error === "route" ? ["errors"] : [];
    this.#outputs = new StepOutputs({
      place: this.#place,
      names: [...new Set([MAIN, ...(kind.outputs?.(step.settings) ?? []), ...errors])],
      limits: { rows: settings.WORKFLOW_MAX_ROWS, bytes: settings.WORKFLOW_MAX_BYTES },
      stored: progress.state.outputs,
      write: (write) => this.#write(write),
    });
  }

  /** Begins a try: behind the rows that an earlier one has finished, or with empty outputs. */
  static async begin(work: StepWork, signal: AbortSignal): Promise<StepAttempt> {
    const { run, step, claim, inputs, clock } = work;
    const place = { day: run.day, runId: run.id, stepId: step.id };
    const progress = await RowProgress.read(claim.db, place);
    await claim.write(async (transaction) => {
      const rowsIn = inputs.reduce((sum, { rows }) => sum + rows, 0);
      await beginTry(transaction, run, { stepId: step.id, rowsIn, now: clock.now() });
      await deleteOutputs(transaction, place, progress.kept);
    });
    return new StepAttempt(work, signal, progress);
  }

  get isCommitted(): boolean {
    return this.#isCommitted;
  }

  /** Of all tries. */
  get usage(): StepUsage {
    return this.#usage;
  }

  get figures() {
    const outputs = this.#outputs.stored.map(({ name, rows, bytes }) => ({ name, rows, bytes }));
    return { outputs, rowErrors: this.#rowErrors, usage: this.#usage };
  }

  context(tries: number): StepContext {
    const { run, step, timeLeftMs } = this.#work;
    return {
      run,
      step,
      settings: step.settings,
      attempt: tries,
      inputs: this.#inputs(),
      scope: scopeOf(run),
      signal: this.#signal,
      get timeMs() {
        return timeLeftMs();
      },
      isTest: false,
      tell: () => undefined,
      output: (name) => this.#outputs.writer(name),
      take: (result) => this.#take(result),
      reject: (error, row) => this.#reject(error, row),
      addUsage: (more) => this.#addUsage(more),
      eachRow: (work) => this.#eachRow(work),
      commit: (effect) => this.#end(undefined, effect),
    };
  }

  /** Ends the step, unless `commit` has. */
  async complete(end: StepEnd | undefined): Promise<void> {
    if (!this.#isCommitted) await this.#end(end);
  }

  /** Refuses what still works for this try, and waits for an end that cannot be refused any more. */
  async close(reason: unknown): Promise<void> {
    this.#closedFor = { reason };
    this.#outputs.close(reason);
    await this.#ending?.catch(() => undefined);
  }

  async #end(end: StepEnd | undefined, effect?: (transaction: Db) => Promise<void>): Promise<void> {
    if (this.#isCommitted) throw new Error("the step has ended already");
    const { run, step, claim } = this.#work;
    await this.#outputs.flush(true);
    const record = async (transaction: Db) => {
      this.#throwIfClosed();
      this.#ending = settled;
      await this.#recordEnd(transaction);
      await deleteProgress(transaction, this.#place);
      if (end !== undefined) await recordBreak(transaction, run, { stepId: step.id, ...end });
    };
    const ended =
      effect === undefined
        ? claim.advance((transaction) => {
            this.#signal.throwIfAborted();
            return record(transaction);
          })
        : claim.advanceOnce(async (transaction) => {
            this.#signal.throwIfAborted();
            await this.#affect(transaction, effect);
            await record(transaction);
          });
    const settled = ended.then(() => {
      this.#isCommitted = true;
    });
    await settled;
  }

  /** What a former try has left behind must not reach the outputs of the next one. */
  #throwIfClosed(): void {
    if (this.#closedFor !== undefined) throw this.#closedFor.reason;
  }

  async #affect(transaction: Db, effect: (transaction: Db) => Promise<void>): Promise<void> {
    this.#transaction = transaction;
    try {
      await effect(transaction);
      // What the effect has written.
      await this.#outputs.flush(true);
    } finally {
      this.#transaction = undefined;
    }
  }

  async #recordEnd(transaction: Db): Promise<void> {
    const { run, step, clock } = this.#work;
    const isOurs = await updateStep(
      transaction,
      { run, stepId: step.id, from: ["running"] },
      { ...figuresOf(this.figures), status: "completed", endedAt: new Date(clock.now()) },
    );
    if (!isOurs) throw new StepEnded(`The step ${step.id} was ended in the meantime.`);
  }

  #inputs(): readonly StepInput[] {
    const { run, inputs } = this.#work;
    return inputs.map(({ stepId, output, name, rows, bytes }) => ({
      ...{ name, rows, bytes },
      chunks: () =>
        readChunks((read) => this.#read(read), { ...this.#place, day: run.day, stepId, output }),
    }));
  }

  /** While the step ends everything goes through its transaction: the embedded database has one session. */
  #read<Result>(read: (db: Db) => Promise<Result>): Promise<Result> {
    return read(this.#transaction ?? this.#work.claim.db);
  }

  #write(write: (transaction: Db) => Promise<void>): Promise<void> {
    if (this.#transaction !== undefined) return write(this.#transaction);
    return this.#work.claim.write(async (transaction) => {
      this.#throwIfClosed();
      await write(transaction);
      this.#throwIfClosed();
    });
  }

  async #take(result: RowResult): Promise<void> {
    if (result.kind === "chunk") await this.#outputs.writer(result.output).chunk(result.chunk);
    if (result.kind === "row_errors") this.#countErrors(result.count, result.first);
  }

  async #reject(error: RowError, row: MadeRow): Promise<void> {
    this.#countErrors(1, error);
    if (this.#work.step.on_row_error !== "route") return;
    const { row: number, code, message } = error;
    const told = { row: number, code, message };
    const routed = textWithField(textOfRow(row), ERROR_FIELD, JSON.stringify(told));
    // A row that fits alone may be too large with its error.
    const fits = Buffer.byteLength(routed) <= MAX_ROW_BYTES;
    await this.#outputs.writer("errors").push(fits ? routed : { [ERROR_FIELD]: told });
  }

  #countErrors(count: number, first: RowError): void {
    this.#rowErrors += count;
    if (this.#work.step.on_row_error === "fail") throw rowFailure(first);
  }

  #addUsage({ calls = 0, inputTokens = 0, outputTokens = 0 }: Partial<StepUsage>): void {
    const usage = this.#usage;
    this.#usage = {
      calls: usage.calls + calls,
      inputTokens: usage.inputTokens + inputTokens,
      outputTokens: usage.outputTokens + outputTokens,
    };
  }

  async #eachRow(work: RowWork): Promise<void> {
    if (this.#hasLooped) throw new Error("a step goes through its rows once");
    this.#hasLooped = true;
    const { run, step, pauses } = this.#work;
    const { state, left } = this.#progress;
    this.#outputs.hold();
    const loop = new RowLoop({
      ...{ work, pauses, left, done: state.done, retries: step.retries },
      inputs: this.#inputs(),
      keyPrefix: `${run.id}:${step.id}`,
      failsFast: step.on_row_error === "fail",
      signal: this.#signal,
      write: async (outcome, row) => {
        if ("error" in outcome) return this.#reject({ row: outcome.number, ...outcome.error }, row);
        const main = this.#outputs.writer();
        for (const made of outcome.rows) await main.push(made);
      },
      save: (saved) => this.#save(saved),
    });
    await loop.run();
    this.#outputs.release();
  }

  /** Stores outputs, progress and figures together, so that a later try continues exactly behind them. */
  async #save({ done, finished, retries }: Parameters<RowLoopOptions["save"]>[0]): Promise<void> {
    const { run, step, claim } = this.#work;
    const outputs = await this.#outputs.batch(true);
    const state: ProgressState = { done, rowErrors: this.#rowErrors, outputs: outputs.stored };
    const progress = await this.#progress.batch(state, finished);
    const figures = figuresOf({ ...this.figures, outputs: namesOf(outputs.stored) });
    await claim.advance(async (transaction) => {
      this.#throwIfClosed();
      await updateStep(transaction, { run, stepId: step.id, from: ["running"] }, figures);
      await outputs.insert(transaction);
      await progress.insert(transaction);
      if (retries > 0) await addRetries(transaction, run, retries);
    });
    outputs.settle();
    progress.settle();
  }
}

function namesOf(stored: StepOutputs["stored"]) {
  return stored.map(({ name, rows, bytes }) => ({ name, rows, bytes }));
}
