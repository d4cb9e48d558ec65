import { type Db, withTransaction } from "../../db/context.ts";
import { repeatConflict } from "../../db/repeat-conflict.ts";
import type { WorkContext } from "../../queue/topic.ts";

type Work = (transaction: Db) => Promise<void>;

/**
 * The claim of a run by this worker. Everything that the run stores goes through it, so that nothing is stored once
 * another worker has taken the run over or it was stopped. All methods reject with `ClaimLost` then.
 */
export class RunClaim {
  readonly db: Db;
  /** Aborts when the server stops and when the claim is lost. */
  readonly signal: AbortSignal;
  readonly #context: WorkContext;

  /** @param db a handle without a time limit: a long effect is one transaction. */
  constructor(db: Db, context: WorkContext) {
    this.db = db;
    this.signal = context.signal;
    this.#context = context;
  }

  /** Stores what a later worker repeats: beginnings, and outputs of steps that start again. */
  write(work: Work): Promise<void> {
    return repeatConflict(() => this.#store(work, this.#context.confirm));
  }

  /** Stores what no later worker repeats: it counts as progress, so lost workers before it are forgotten. */
  advance(work: Work): Promise<void> {
    return repeatConflict(() => this.#store(work, this.#context.checkpoint));
  }

  /** As `advance`, for work that must not be repeated in this process. */
  advanceOnce(work: Work): Promise<void> {
    return this.#store(work, this.#context.checkpoint);
  }

  /**
   * To be called before a transaction changes the run's own record: a stop locks the claim before it too, so that neither
   * waits for the other.
   */
  lock(transaction: Db): Promise<void> {
    return this.#context.confirm(transaction);
  }

  #store(work: Work, keep: Work): Promise<void> {
    return withTransaction(this.db, async (transaction) => {
      await work(transaction);
      // Last, so that the claim's row is locked for a moment only.
      await keep(transaction);
    });
  }
}

/**
 * Settles as `work` does. After the signal's abort `work` has `graceMs` to end by itself; then this rejects with the
 * signal's reason, and `work` may go on in vain.
 */
export async function settleAfterAbort<Result>(
  work: Promise<Result>,
  signal: AbortSignal,
  graceMs: number,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  let watch: () => void = () => undefined;
  const abandoned = new Promise<never>((_, reject) => {
    watch = () => {
      timer = setTimeout(() => reject(signal.reason), graceMs);
    };
    if (signal.aborted) watch();
    else signal.addEventListener("abort", watch, { once: true });
  });
  try {
    return await Promise.race([work, abandoned]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", watch);
  }
}
