import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { journalCheckpoints } from "../db/tables/usage.ts";
import { randomBase62 } from "../lib/id.ts";

/** One attempt's place among the batches of its writer. */
export interface BatchTurn {
  /** A name that no other process and no journal has. */
  readonly writer: string;
  /** Counts up from 1. */
  readonly batch: number;
}

export interface NumberedBatchesOptions<Figures> {
  /** What the writer's name begins with, among the journal checkpoints. */
  readonly prefix: string;
  /** Takes what waits out of memory; undefined when nothing does. */
  readonly take: () => Figures | undefined;
  /** Stores a batch with a statement that begins with `takeTurn`. */
  readonly store: (figures: Figures, turn: BatchTurn) => Promise<void>;
}

interface Batch<Figures> {
  readonly figures: Figures;
  readonly turn: BatchTurn;
}

/**
 * Adds figures to sums in the database, each at most once. A failed attempt may still be stored, because its statement
 * goes on after the answer was given up. So a batch keeps its number and its figures until an attempt succeeds, newer
 * figures wait for the next batch, and the statement adds nothing when its number is stored already.
 */
export class NumberedBatches<Figures> {
  readonly #options: NumberedBatchesOptions<Figures>;
  readonly #writer: string;
  #kept: Batch<Figures> | undefined;
  #batches = 0;

  constructor(options: NumberedBatchesOptions<Figures>) {
    this.#options = options;
    this.#writer = `${options.prefix}${randomBase62(16)}`;
  }

  /**
   * Stores the batch whose last attempt failed, else the next one. Resolves to whether there was any. Rejects as
   * `store` does, and the batch is kept. One run at a time.
   */
  async storeNext(): Promise<boolean> {
    this.#kept ??= this.#next();
    if (this.#kept === undefined) return false;
    const { figures, turn } = this.#kept;
    await this.#options.store(figures, turn);
    this.#kept = undefined;
    return true;
  }

  /** Deletes the writer's number when nothing waits for another attempt; there must be no further batch. */
  async forget(db: Db): Promise<void> {
    if (this.#batches === 0 || this.#kept !== undefined) return;
    await db.execute(sql`delete from ${journalCheckpoints} where journal = ${this.#writer}`);
  }

  #next(): Batch<Figures> | undefined {
    const figures = this.#options.take();
    if (figures === undefined) return undefined;
    this.#batches += 1;
    return { figures, turn: { writer: this.#writer, batch: this.#batches } };
  }
}

/**
 * Builds the query of a `with` that stores a batch's number, as a journal stores its position, and returns a row only
 * when the batch is not stored yet. It waits for another attempt that is still running.
 */
export function takeTurn({ writer, batch }: BatchTurn): SQL {
  return sql`
    insert into ${journalCheckpoints} as present (journal, segment, byte_offset) values (${writer}, 0, ${batch})
    on conflict (journal, segment) do update set byte_offset = excluded.byte_offset, updated_at = now()
      where present.byte_offset < excluded.byte_offset
    returning journal`;
}
