import { and, eq, inArray } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows } from "../../db/tables/workflows.ts";
import { packLines, unpackLines } from "../rows/pack-rows.ts";
import { type MadeRow, type RowChunk, type RowError, textOfRow } from "../rows/row.ts";
import { insertChunks, type OutputPlace, readChunks } from "../rows/row-store.ts";
import type { StoredOutput } from "./step-outputs.ts";

/** Stored beside a step's outputs while it works row by row. */
const PROGRESS = "$progress";
/** Uncompressed; a larger single result has a chunk of its own. */
const PROGRESS_CHUNK_BYTES = 4 * 1024 * 1024;

/** What became of one row: the JSON texts of others, or why there are none. */
export type RowOutcome =
  | { readonly number: number; readonly rows: readonly string[] }
  | { readonly number: number; readonly error: Omit<RowError, "row"> };

/** The state behind which a step continues. */
export interface ProgressState {
  /** The rows up to this number, counted from 1, are in the outputs. */
  readonly done: number;
  readonly rowErrors: number;
  readonly outputs: readonly StoredOutput[];
}

/** One store of progress: made ready before its transaction, kept in mind after it. */
export interface ProgressBatch {
  readonly insert: (transaction: Db) => Promise<void>;
  readonly settle: () => void;
}

/**
 * The progress of a step that works row by row. Outputs have the rows in their order, so a finished row waits for the
 * ones before it; until then it is kept here. The last chunk begins with the state; chunks whose rows have all reached
 * the outputs are deleted.
 */
export class RowProgress {
  readonly state: ProgressState;
  /** Finished rows beyond `state.done`, as an earlier try left them. */
  readonly left: readonly RowOutcome[];
  readonly #place: OutputPlace;
  #chunks: readonly { readonly chunk: number; readonly last: number }[];
  #next: number;

  private constructor(
    place: OutputPlace,
    found: Pick<RowProgress, "state" | "left"> & {
      readonly chunks: readonly { readonly chunk: number; readonly last: number }[];
    },
  ) {
    this.#place = place;
    this.state = found.state;
    this.left = found.left;
    this.#chunks = found.chunks;
    this.#next = (found.chunks.at(-1)?.chunk ?? -1) + 1;
  }

  /** Reads what an earlier try has left: at most the rows of one window. */
  static async read(db: Db, step: Omit<OutputPlace, "output">): Promise<RowProgress> {
    const place = { ...step, output: PROGRESS };
    const chunks: { chunk: number; last: number }[] = [];
    const outcomes: RowOutcome[] = [];
    let state: ProgressState = { done: 0, rowErrors: 0, outputs: [] };
    for await (const chunk of readChunks((work) => work(db), place)) {
      const [head = "", ...lines] = await unpackLines(chunk);
      state = JSON.parse(head) as ProgressState;
      const found = lines.map(outcomeOf);
      chunks.push({ chunk: chunk.chunk, last: lastOf(found) });
      outcomes.push(...found);
    }
    const left = outcomes.filter(({ number }) => number > state.done);
    return new RowProgress(place, { state, left, chunks });
  }

  get isEmpty(): boolean {
    return this.#chunks.length === 0;
  }

  /** The outputs that belong to the progress, and the progress itself. */
  get kept(): readonly { readonly name: string; readonly chunks: number }[] {
    return this.isEmpty ? [] : [...this.state.outputs, { name: PROGRESS, chunks: this.#next }];
  }

  /** @param finished the rows that finished since the last batch and are not in the outputs yet. */
  async batch(state: ProgressState, finished: readonly RowOutcome[]): Promise<ProgressBatch> {
    const head = JSON.stringify(state);
    const groups = groupsOf(finished);
    const packed = await Promise.all(groups.map(({ lines }) => packLines([head, ...lines])));
    const first = this.#next;
    const added = groups.map(({ last }, index) => ({ chunk: first + index, last }));
    const isLive = ({ last }: { readonly last: number }) => last > state.done;
    const gone = this.#chunks.filter((chunk) => !isLive(chunk)).map(({ chunk }) => chunk);
    return {
      insert: async (transaction) => {
        await insertChunks(transaction, this.#place, packed satisfies RowChunk[], first);
        if (gone.length > 0) await this.#delete(transaction, gone);
      },
      settle: () => {
        this.#chunks = [...this.#chunks.filter(isLive), ...added];
        this.#next = first + added.length;
      },
    };
  }

  async #delete(transaction: Db, gone: readonly number[]): Promise<void> {
    const { day, runId, stepId, output } = this.#place;
    const table = workflowRows;
    const isOfStep = and(eq(table.day, day), eq(table.runId, runId), eq(table.stepId, stepId));
    await transaction
      .delete(table)
      .where(and(isOfStep, eq(table.output, output), inArray(table.chunk, [...gone])));
  }
}

/** Deletes the progress of a step that has ended. */
export async function deleteProgress(
  db: Db,
  { day, runId, stepId }: Omit<OutputPlace, "output">,
): Promise<void> {
  const table = workflowRows;
  await db
    .delete(table)
    .where(
      and(
        eq(table.day, day),
        eq(table.runId, runId),
        eq(table.stepId, stepId),
        eq(table.output, PROGRESS),
      ),
    );
}

/** An earlier release stored rows as objects. */
function outcomeOf(line: string): RowOutcome {
  const outcome = JSON.parse(line) as RowOutcome | { number: number; rows: readonly MadeRow[] };
  return "rows" in outcome ? { ...outcome, rows: outcome.rows.map(textOfRow) } : outcome;
}

/** There is always one group, because each batch stores the state. */
function groupsOf(finished: readonly RowOutcome[]): { lines: string[]; last: number }[] {
  const groups: { lines: string[]; last: number }[] = [{ lines: [], last: 0 }];
  let bytes = 0;
  for (const outcome of finished) {
    const line = JSON.stringify(outcome);
    bytes += line.length;
    let group = groups.at(-1);
    if (group === undefined || (bytes > PROGRESS_CHUNK_BYTES && group.lines.length > 0)) {
      group = { lines: [], last: 0 };
      groups.push(group);
      bytes = line.length;
    }
    group.lines.push(line);
    group.last = Math.max(group.last, outcome.number);
  }
  return groups;
}

function lastOf(outcomes: readonly RowOutcome[]): number {
  return outcomes.reduce((last, { number }) => Math.max(last, number), 0);
}
