import type { JsonObject } from "../../lib/json/json.ts";
import type { RowOutputs } from "./row-outputs.ts";
import type { ExpressionScope } from "./row-process.ts";
import type { InputLine, SentInput } from "./row-work.ts";

/** What a program has while it runs in the process. */
export interface RowWork {
  readonly settings: JsonObject;
  readonly scope: ExpressionScope;
  readonly folder: string;
  readonly inputs: readonly SentInput[];
  /** Yields the rows of one input in batches of a chunk. Each input is read once. */
  readonly lines: (input: SentInput) => AsyncGenerator<readonly InputLine[], void>;
  /** The rows of all inputs, one input after another. */
  readonly allLines: () => AsyncGenerator<readonly InputLine[], void>;
  readonly outputs: RowOutputs;
}

/**
 * The work of one kind of step inside the process. It yields whenever its outputs may be sent: after each batch, and
 * when `outputs.isFull`.
 */
export type RowProgram = (work: RowWork) => AsyncGenerator<void, void>;
