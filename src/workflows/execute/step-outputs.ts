import { and, eq, gte, notInArray, or } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { workflowRows } from "../../db/tables/workflows.ts";
import { takeTurns } from "../../lib/concurrency.ts";
import { ChunkBuilder, RowTooLarge } from "../rows/pack-rows.ts";
import type { MadeRow, RowChunk } from "../rows/row.ts";
import { insertChunks, MAIN, type OutputPlace } from "../rows/row-store.ts";
import { StepFailure } from "../runs/run.ts";
import type { OutputWriter } from "../steps/step-kind.ts";
import type { OutputFigures } from "./step-records.ts";

/**
 * Closed chunks of one output that wait for the database; with more of them the step waits. On its way a chunk has some
 * ten times its bytes in the driver's texts and copies, so that large ones are stored sooner.
 */
const WAITING_CHUNKS = 8;
const WAITING_BYTES = 128 * 1024;

/** What is stored of an output. */
export interface StoredOutput extends OutputFigures {
  readonly chunks: number;
}

export interface OutputOptions {
  readonly place: Omit<OutputPlace, "output">;
  /** The outputs of the step, `main` among them. */
  readonly names: readonly string[];
  readonly limits: { readonly rows: number; readonly bytes: number };
  /** What an earlier try has left, and this one continues. */
  readonly stored: readonly StoredOutput[];
  /** One transaction that commits only while the run is held. */
  readonly write: (work: (transaction: Db) => Promise<void>) => Promise<void>;
}

/** Chunks that go into a transaction. `settle` is called after its commit. */
export interface OutputBatch {
  readonly insert: (transaction: Db) => Promise<void>;
  readonly settle: () => void;
  readonly isEmpty: boolean;
  /** What is stored after the commit. */
  readonly stored: readonly StoredOutput[];
}

/** Those that are made here are still compressed. */
type Waiting = RowChunk | Promise<RowChunk>;

interface Output {
  readonly name: string;
  readonly builder: ChunkBuilder;
  /** Closed and not stored, in their order. */
  waiting: Waiting[];
  /** Rows that were written, stored or not. */
  rows: number;
  stored: StoredOutput;
}

/** The outputs of one try of a step: rows become chunks, and chunks are stored as they come. */
export class StepOutputs {
  readonly #options: OutputOptions;
  readonly #outputs = new Map<string, Output>();
  readonly #inTurn = takeTurns();
  #isHeld = false;
  #closedFor: { readonly reason: unknown } | undefined;

  constructor(options: OutputOptions) {
    this.#options = options;
    this.#open(MAIN);
    for (const { name } of options.stored) this.#open(name);
  }

  writer(name: string = MAIN): OutputWriter {
    const output = this.#open(name);
    return {
      push: async (row) => {
        const closed = this.#push(output, row);
        if (closed !== undefined) await this.#add(output, closed);
      },
      chunk: async (chunk) => {
        this.#count(output, chunk.rows);
        const rest = output.builder.end();
        if (rest !== undefined) await this.#add(output, rest);
        await this.#add(output, chunk);
      },
    };
  }

  /** From here on nothing is stored but by `batch`: rows wait for the caller's transaction. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  /** Refuses further rows: the try is over, whatever still works on it. */
  close(reason: unknown): void {
    this.#closedFor = { reason };
  }

  /** The most chunks that wait in one output. */
  get waiting(): number {
    return Math.max(...[...this.#outputs.values()].map(({ waiting }) => waiting.length));
  }

  /** The stored outputs: `main`, and those that were opened. */
  get stored(): readonly StoredOutput[] {
    return [...this.#outputs.values()].map(({ stored }) => stored);
  }

  /** Stores what waits. @param isWhole also the rows of unfinished chunks. */
  flush(isWhole = false): Promise<void> {
    return this.#inTurn(async () => {
      const batch = await this.batch(isWhole);
      if (batch.isEmpty) return;
      await this.#options.write(batch.insert);
      batch.settle();
    });
  }

  /**
   * Returns what waits, to be stored in the caller's transaction; no other flush may run meanwhile.
   * @param isWhole also the rows of unfinished chunks.
   */
  async batch(isWhole: boolean): Promise<OutputBatch> {
    const parts = await Promise.all(
      [...this.#outputs.values()].map((output) => this.#partOf(output, isWhole)),
    );
    return {
      isEmpty: parts.every(({ chunks }) => chunks.length === 0),
      stored: parts.map(({ after }) => after),
      insert: async (transaction) => {
        for (const { output, chunks } of parts) {
          const place = { ...this.#options.place, output: output.name };
          await insertChunks(transaction, place, chunks, output.stored.chunks);
        }
      },
      settle() {
        for (const { output, chunks, after } of parts) {
          output.stored = after;
          output.waiting = output.waiting.slice(chunks.length);
        }
      },
    };
  }

  async #partOf(output: Output, isWhole: boolean) {
    const rest = isWhole ? output.builder.end() : undefined;
    if (rest !== undefined) output.waiting.push(rest);
    const chunks = await Promise.all(output.waiting);
    const { name, stored } = output;
    const after = {
      name,
      chunks: stored.chunks + chunks.length,
      rows: stored.rows + chunks.reduce((sum, { rows }) => sum + rows, 0),
      bytes: stored.bytes + chunks.reduce((sum, { bytes }) => sum + bytes, 0),
    };
    const { bytes } = this.#options.limits;
    if (after.bytes > bytes) throw tooLarge(name, `${bytes} bytes of JSON (WORKFLOW_MAX_BYTES)`);
    return { output, chunks, after };
  }

  #open(name: string): Output {
    const known = this.#outputs.get(name);
    if (known !== undefined) return known;
    const { names, stored } = this.#options;
    if (!names.includes(name)) throw new Error(`the step has no output ${name}`);
    const before = stored.find((one) => one.name === name) ?? {
      name,
      chunks: 0,
      rows: 0,
      bytes: 0,
    };
    const builder = new ChunkBuilder();
    const output: Output = { name, builder, waiting: [], rows: before.rows, stored: before };
    this.#outputs.set(name, output);
    return output;
  }

  #push(output: Output, row: MadeRow): Promise<RowChunk> | undefined {
    this.#count(output, 1);
    try {
      return output.builder.push(row);
    } catch (thrown) {
      throw thrown instanceof RowTooLarge ? rowTooLarge(output, thrown) : thrown;
    }
  }

  #count(output: Output, rows: number): void {
    if (this.#closedFor !== undefined) throw this.#closedFor.reason;
    output.rows += rows;
    const { limits } = this.#options;
    if (output.rows > limits.rows) {
      throw tooLarge(output.name, `${limits.rows} rows (WORKFLOW_MAX_ROWS)`);
    }
  }

  async #add(output: Output, chunk: Waiting): Promise<void> {
    output.waiting.push(chunk);
    if (!this.#isHeld && isMuch(output.waiting)) await this.flush();
    if (this.#closedFor !== undefined) throw this.#closedFor.reason;
  }
}

function isMuch(waiting: readonly Waiting[]): boolean {
  let bytes = 0;
  for (const chunk of waiting) if (!(chunk instanceof Promise)) bytes += chunk.data.length;
  return waiting.length >= WAITING_CHUNKS || bytes >= WAITING_BYTES;
}

function rowTooLarge({ name, rows }: Output, cause: RowTooLarge): StepFailure {
  const message = `${cause.message} It is row ${rows} of the output "${name}". Select fewer fields.`;
  return new StepFailure("row_too_large", message, { cause });
}

function tooLarge(name: string, limit: string): StepFailure {
  return new StepFailure(
    "output_too_large",
    `The output "${name}" has more than ${limit}. Filter, limit or aggregate the rows before.`,
  );
}

/** Deletes what an earlier try has stored of a step, but for the chunks that `kept` counts. */
export async function deleteOutputs(
  db: Db,
  { day, runId, stepId }: Omit<OutputPlace, "output">,
  kept: readonly { readonly name: string; readonly chunks: number }[] = [],
): Promise<void> {
  const table = workflowRows;
  const isOfStep = and(eq(table.day, day), eq(table.runId, runId), eq(table.stepId, stepId));
  const names = kept.map(({ name }) => name);
  const isBehind = kept.map(({ name, chunks }) =>
    and(eq(table.output, name), gte(table.chunk, chunks)),
  );
  const isGone = kept.length === 0 ? undefined : or(notInArray(table.output, names), ...isBehind);
  await db.delete(table).where(and(isOfStep, isGone));
}
