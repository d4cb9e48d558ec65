import { takeTurns } from "../../lib/concurrency.ts";
import { within } from "../../lib/time/within.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import { unpackTexts } from "../rows/pack-rows.ts";
import { type StepInput, textOfRow } from "../rows/row.ts";
import { rowFailure, StepFailure } from "../runs/run.ts";
import type { RowWork } from "../steps/step-kind.ts";
import { repeat } from "./repeat.ts";
import type { Pauses } from "./retry-pause.ts";
import type { RowOutcome } from "./row-progress.ts";
import { bytesOf, faultOf, tooLarge } from "./row-results.ts";

/** Finished rows are stored at least this often. */
const SAVE_MS = 1_000;
/** How far a row may be ahead of the first unfinished one; twice as far as rows are worked on at once, if that is more. */
const WINDOW_ROWS = 1_000;
/** Rows of the window, in characters; beyond it only the first unfinished row goes on. */
const WINDOW_CHARACTERS = 32 * 1024 * 1024;
/** Results that wait for earlier rows; beyond it only the first unfinished row goes on. */
const WINDOW_BYTES = 16 * 1024 * 1024;
/** Results that are not stored; beyond it they are stored at once. */
const UNSAVED_BYTES = 4 * 1024 * 1024;
/** After a failure or an abort the rows in progress have this long to end. */
const LAST_ROWS_MS = 300;

export interface RowLoopOptions {
  readonly work: RowWork;
  readonly inputs: readonly StepInput[];
  /** `run:step`: begins the key of each row. */
  readonly keyPrefix: string;
  readonly retries: number;
  /** One failed row fails the step. */
  readonly failsFast: boolean;
  readonly signal: AbortSignal;
  readonly pauses: Pauses;
  /** What an earlier try has finished: all rows up to `done`, and some behind. */
  readonly done: number;
  readonly left: readonly RowOutcome[];
  /** Takes the next row of the outputs' order. */
  readonly write: (outcome: RowOutcome, row: string) => Promise<void>;
  /** Stores what was written, and finished rows that have to wait for others. */
  readonly save: (state: {
    readonly done: number;
    readonly finished: readonly RowOutcome[];
    readonly retries: number;
  }) => Promise<void>;
}

interface Item {
  readonly row: string;
  readonly number: number;
  readonly prepared: unknown;
}

interface Finished {
  readonly outcome: RowOutcome;
  readonly bytes: number;
}

/**
 * Works on rows side by side, writes them in their order, and stores what finished. What is in memory is bounded by the
 * window, however many rows there are.
 */
export class RowLoop {
  readonly #options: RowLoopOptions;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #inTurn = takeTurns();
  readonly #running = new Map<number, Promise<void>>();
  /** Finished, and not written. */
  readonly #finished = new Map<number, Finished>();
  /** Rows of the window that the inputs have yielded: a failed one is routed with its fields. */
  readonly #rows = new Map<number, string>();
  #rowCharacters = 0;
  /** Finished since the last save, and not stored. */
  #unsaved: RowOutcome[] = [];
  #unsavedBytes = 0;
  #unsavedRetries = 0;
  #windowBytes = 0;
  readonly #windowRows: number;
  #done: number;
  #savedDone: number;
  #timer: NodeJS.Timeout | undefined;
  #changed = deferred();
  #isOver = false;

  constructor(options: RowLoopOptions) {
    this.#options = options;
    this.#done = options.done;
    this.#savedDone = options.done;
    this.#windowRows = Math.max(WINDOW_ROWS, 2 * options.work.concurrency);
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
    for (const outcome of options.left) this.#keep({ outcome, bytes: bytesOf(outcome) });
  }

  /** Resolves when every row is written and stored. */
  async run(): Promise<void> {
    try {
      for await (const item of this.#items()) {
        this.#rows.set(item.number, item.row);
        this.#rowCharacters += item.row.length;
        if (this.#finished.has(item.number)) {
          // What an earlier try left needs no room: it takes up room until its row is here.
          await this.#inTurn(() => this.#write());
          continue;
        }
        while (!this.#hasRoom(item.number)) await this.#next();
        this.#begin(item);
      }
      while (this.#running.size > 0) await this.#next();
      await this.#save();
    } catch (thrown) {
      await this.#leave(thrown);
    } finally {
      this.#isOver = true;
      clearTimeout(this.#timer);
    }
    this.#signal.throwIfAborted();
  }

  /** Yields the rows behind those that are done, chunk by chunk. */
  async *#items(): AsyncGenerator<Item> {
    const { inputs, work } = this.#options;
    let first = 1;
    for (const input of inputs) {
      for await (const chunk of input.chunks()) {
        this.#signal.throwIfAborted();
        const start = first;
        first += chunk.rows;
        if (first - 1 <= this.#options.done) continue;
        const rows = await unpackTexts(chunk);
        const prepared = await work.prepare?.(rows, this.#signal);
        for (const [index, row] of rows.entries()) {
          const number = start + index;
          if (number > this.#options.done) yield { row, number, prepared: prepared?.[index] };
        }
      }
    }
  }

  #hasRoom(number: number): boolean {
    if (this.#running.size >= this.#options.work.concurrency) return false;
    if (this.#unsavedBytes >= UNSAVED_BYTES) return false;
    if (number === this.#done + 1) return true;
    if (number > this.#done + this.#windowRows) return false;
    return this.#windowBytes < WINDOW_BYTES && this.#rowCharacters < WINDOW_CHARACTERS;
  }

  /** Waits until a row has finished, and writes what is complete. */
  async #next(): Promise<void> {
    if (this.#unsavedBytes >= UNSAVED_BYTES) return this.#save();
    await untilAborted(this.#changed.promise, this.#signal);
    this.#changed = deferred();
    await this.#inTurn(() => this.#write());
  }

  #begin(item: Item): void {
    const { number } = item;
    const ended = this.#outcomeOf(item).then(
      (outcome) => {
        this.#running.delete(number);
        this.#finish(outcome);
      },
      (thrown: unknown) => {
        this.#running.delete(number);
        this.#fail(thrown);
      },
    );
    this.#running.set(number, ended);
  }

  async #outcomeOf({ row, number, prepared }: Item): Promise<RowOutcome> {
    const fault = faultOf(prepared);
    if (fault !== undefined) return { number, error: fault };
    const { work, keyPrefix } = this.#options;
    const idempotencyKey = `${keyPrefix}:${number}`;
    const [signal, repeat] = [this.#signal, this.#repeat];
    const item = { row, number, prepared, idempotencyKey, signal, repeat };
    try {
      const rows = await repeat(async () => (await work.work(item)).map(textOfRow));
      const message = tooLarge(rows);
      if (message === undefined) return { number, rows };
      return { number, error: { code: "row_too_large", message } };
    } catch (thrown) {
      signal.throwIfAborted();
      if (!(thrown instanceof StepFailure)) throw thrown;
      return { number, error: { code: thrown.code, message: thrown.message } };
    }
  }

  readonly #repeat = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const { retries, pauses } = this.#options;
    const onRetry = () => {
      this.#unsavedRetries += 1;
    };
    return repeat(work, { retries, pauses, signal: this.#signal, onRetry });
  };

  #finish(outcome: RowOutcome): void {
    if (this.#isOver) return;
    if ("error" in outcome && this.#options.failsFast) {
      this.#fail(rowFailure({ row: outcome.number, ...outcome.error }));
      return;
    }
    const bytes = bytesOf(outcome);
    this.#keep({ outcome, bytes });
    this.#unsaved.push(outcome);
    this.#unsavedBytes += bytes;
    this.#timer ??= setTimeout(
      () => void this.#save().catch((thrown) => this.#fail(thrown)),
      SAVE_MS,
    );
    this.#changed.resolve();
  }

  #keep(finished: Finished): void {
    this.#finished.set(finished.outcome.number, finished);
    this.#windowBytes += finished.bytes;
  }

  #fail(thrown: unknown): void {
    this.#stop.abort(thrown);
  }

  /** Writes the finished rows that no earlier one has to precede. */
  async #write(): Promise<void> {
    for (;;) {
      const number = this.#done + 1;
      const next = this.#finished.get(number);
      const row = this.#rows.get(number);
      if (next === undefined || row === undefined) return;
      await this.#options.write(next.outcome, row);
      this.#done = number;
      this.#finished.delete(number);
      this.#rows.delete(number);
      this.#rowCharacters -= row.length;
      this.#windowBytes -= next.bytes;
    }
  }

  #save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    return this.#inTurn(async () => {
      await this.#write();
      const [unsaved, retries, done] = [this.#unsaved, this.#unsavedRetries, this.#done];
      if (unsaved.length === 0 && done === this.#savedDone && retries === 0) return;
      this.#unsaved = [];
      this.#unsavedBytes = 0;
      this.#unsavedRetries = 0;
      const finished = unsaved.filter(({ number }) => number > done);
      try {
        await this.#options.save({ done, finished, retries });
      } catch (thrown) {
        this.#unsaved = [...unsaved, ...this.#unsaved];
        this.#unsavedRetries += retries;
        throw thrown;
      }
      this.#savedDone = done;
    });
  }

  /** Stores what has finished before the failure goes on. */
  async #leave(thrown: unknown): Promise<never> {
    // The first of several failures is the cause; the abort of the others is not.
    const cause = this.#signal.aborted ? this.#signal.reason : thrown;
    this.#fail(cause);
    const rest = Promise.allSettled(this.#running.values());
    await within(rest, LAST_ROWS_MS, () => new Error("rows are still in progress")).catch(
      () => undefined,
    );
    // With the claim or the database gone nothing can be stored; what finished last is repeated then.
    await this.#save().catch(() => undefined);
    throw cause;
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
