import { type Db, withTransaction } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { isConnectionLost, isFromDatabase, toDatabaseError } from "../../db/database-error.ts";
import { repeatConflict } from "../../db/repeat-conflict.ts";
import type { WorkContext } from "../../queue/topic.ts";
import { limitIdle } from "../runs/claimed/limit-idle.ts";

type ClaimStore = Pick<Database, "work" | "kind">;
type Work = (transaction: Db) => Promise<void>;

/**
 * The claim of a run by this worker. Everything that the run stores goes through it, so that nothing is stored once
 * another worker has taken the run over or it was stopped. All methods reject with `ClaimLost` then.
 *
 * A transaction locks in this order, as a stop does, so that neither waits for the other in a circle: the record of the
 * step, its rows, the record of the run, and the claim last.
 */
export class RunClaim {
  readonly db: Db;
  /** Aborts when the server stops and when the claim is lost. */
  readonly signal: AbortSignal;
  readonly #context: WorkContext;
  readonly #database: ClaimStore;
  readonly #leaseMs: number;

  constructor(database: ClaimStore, context: WorkContext, leaseMs: number) {
    this.#database = database;
    this.#leaseMs = leaseMs;
    // Without a time limit: a long effect is one transaction.
    this.db = database.work;
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

  async #store(work: Work, keep: Work): Promise<void> {
    try {
      await withTransaction(this.db, async (transaction) => {
        await limitIdle(transaction, this.#database, this.#leaseMs);
        await work(transaction);
        // Last, so that the claim's row is locked for a moment only.
        await keep(transaction);
      });
    } catch (thrown) {
      // The driver's own error of a lost connection does not say that it is one of a query.
      const isLost = isFromDatabase(thrown) && isConnectionLost(toDatabaseError(thrown));
      throw isLost ? toDatabaseError(thrown) : thrown;
    }
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
