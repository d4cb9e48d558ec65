import type { z } from "zod";
import type { Caller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Definition, Step } from "../definition/definition.ts";
import type { Expression, ExpressionScope, RowResult } from "../row-process/row-process.ts";
import type { MadeRow, RowChunk, RowError, StepInput } from "../rows/row.ts";
import type { ClaimedRun } from "../runs/run.ts";

/** `source`: needs no input and always runs. `sink`: has an effect outside and passes its rows on. */
export type StepGroup = "source" | "transform" | "control" | "model" | "sink";

/**
 * One kind of step: a file in `workflows/steps/` and a line in its registry. The validation, `GET /step-kinds`, the
 * documentation and the contract test come from it.
 */
export interface StepKind<Settings extends object = JsonObject> {
  /** `filter`: what `kind` of a step says. */
  readonly kind: string;
  readonly group: StepGroup;
  /** A few words for the console. */
  readonly label: string;
  /** One sentence: what becomes of the rows. */
  readonly help: string;
  /** The kind's own fields, of a whole and valid step. */
  readonly example: JsonObject;
  /** The kind's own fields: a strict object. */
  readonly schema: z.ZodType<Settings>;
  /** Only an administrator's workflow may have it: it reads or writes files or databases. */
  readonly administratorsOnly?: true;
  /** The workflow needs a key. */
  readonly needsKey?: true;
  /** Named outputs beside `main`; `errors` is added where `on_row_error` is `route`. Default none. */
  readonly outputs?: (settings: Settings) => readonly string[];
  /** Runs even with no rows, whatever `run_on_empty` says. Sources do anyway. */
  readonly runsOnEmpty?: (settings: Settings) => boolean;
  /** What a row process checks when the workflow is saved. `inputs`: their names as tables. */
  readonly expressions?: (settings: Settings, inputs: readonly string[]) => readonly Expression[];
  /** Returns further faults: names that do not exist, what the owner may not use. Also asked before each run of it. */
  readonly check?: (settings: Settings, context: CheckContext) => Promise<readonly FieldFault[]>;
  /**
   * Reads the inputs and writes the outputs. It may be called again with the same inputs after a failure or a crash.
   * Throws a `StepFailure`, or the signal's reason.
   */
  readonly run: (context: StepContext<Settings>) => Promise<StepEnd | undefined>;
}

export interface FieldFault {
  readonly field: string;
  readonly message: string;
}

export interface CheckContext {
  /** The owner of the workflow: a session caller with the owner's role, because what is saved runs as the owner. */
  readonly owner: Caller;
  readonly workflowId: string | null;
  readonly keyId: string | null;
  readonly step: Step;
  readonly definition: Definition;
}

/** The step ended the run: nothing more starts, the rest is skipped. */
export interface StepEnd {
  readonly breaks: { readonly as: "completed" | "failed"; readonly message: string };
}

/** What a step has while it runs. */
export interface StepContext<Settings extends object = JsonObject> {
  readonly run: ClaimedRun;
  readonly step: Step;
  readonly settings: Settings;
  /** Tries of this step, this one included. */
  readonly attempt: number;
  readonly inputs: readonly StepInput[];
  readonly scope: ExpressionScope;
  /** Aborts when the run stops, is taken over or runs out of time. */
  readonly signal: AbortSignal;
  /** Milliseconds that the step has left. */
  readonly timeMs: number;
  /** A test of one step: a sink reports with `tell` what it would do, and does nothing. */
  readonly isTest: boolean;
  readonly tell: (text: string) => void;
  /** The writer of an output, `main` unless named. */
  readonly output: (name?: string) => OutputWriter;
  /** Takes over what a row process yields: chunks, row errors. */
  readonly take: (result: RowResult) => Promise<void>;
  /** Treats a row that could not be taken as `on_row_error` says. Throws the `StepFailure` of `fail`. */
  readonly reject: (error: RowError, row: MadeRow) => Promise<void>;
  readonly addUsage: (usage: Partial<StepUsage>) => void;
  /** Works on each row by itself, for calls that cost: finished rows are stored every second and not done again. */
  readonly eachRow: (work: RowWork) => Promise<void>;
  /**
   * Ends the step in one transaction with its effect, so that the effect happens once. Called last; the transaction
   * commits only while this worker holds the run.
   */
  readonly commit: (effect: (transaction: Db) => Promise<void>) => Promise<void>;
}

export interface OutputWriter {
  /** Waits while the database is slower than the step. Throws a `StepFailure` for a row or an output that is too large. */
  readonly push: (row: MadeRow) => Promise<void>;
  /** Passes a chunk on as it is. */
  readonly chunk: (chunk: RowChunk) => Promise<void>;
}

export interface RowWork {
  /** Rows at once. */
  readonly concurrency: number;
  /**
   * Called for each chunk with the JSON texts of its rows, for example to render templates. Its results are passed to
   * `work` by position.
   */
  readonly prepare?: (
    rows: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly (unknown | { readonly error: Omit<RowError, "row"> })[]>;
  /**
   * Returns the rows of `main` that replace this one. A retryable `StepFailure` is tried again `retries` times with
   * backoff; any other one, and the last, is this row's error. `RunFailure`-like faults of the gateway fail the step.
   */
  readonly work: (item: {
    /** Its JSON text: parsing a long one would keep the event loop busy. */
    readonly row: string;
    /** Counted from 1 over all inputs. */
    readonly number: number;
    readonly prepared: unknown;
    /** `run:step:row`: the same at every try. */
    readonly idempotencyKey: string;
    readonly signal: AbortSignal;
    /**
     * Does what several rows share, with the repetitions and pauses that a row of this step has. Its failure is not
     * retryable any more, so that none of the rows repeats it.
     */
    readonly repeat: <Result>(work: () => Promise<Result>) => Promise<Result>;
  }) => Promise<readonly MadeRow[]>;
}

/** Sums of a step, shown with the step and summed up for the run. */
export interface StepUsage {
  readonly calls: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Keeps a kind's settings typed in its own file; the registry holds all kinds as one type. */
export function defineStepKind<Settings extends object>(kind: StepKind<Settings>): StepKind {
  // The registry passes to each kind only what the kind's own schema returned.
  return kind as unknown as StepKind;
}
