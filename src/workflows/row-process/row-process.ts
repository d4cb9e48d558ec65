import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import type { OnRowError } from "../definition/definition.ts";
import type { MadeRow, RowChunk, RowError, StepInput } from "../rows/row.ts";

/** The work of one step in a row process: the kind of a program, and its settings. */
export interface RowJob {
  /** `filter`, `map`, `sql`, `read_file` and so on: a name of the process's own registry. */
  readonly program: string;
  readonly settings: JsonObject;
  /** What expressions see as `trigger` and `run`. */
  readonly scope: ExpressionScope;
  readonly onRowError: OnRowError;
}

export interface ExpressionScope {
  readonly trigger: JsonObject;
  readonly run: JsonObject;
}

/** What a row process yields, as it comes. Routed rows are chunks of the output `errors`. */
export type RowResult =
  | { readonly kind: "chunk"; readonly output: string; readonly chunk: RowChunk }
  | { readonly kind: "row_errors"; readonly count: number; readonly first: RowError }
  /** A condition over the inputs, for `flow_break`. */
  | { readonly kind: "condition"; readonly value: boolean };

/** A text or expression that is evaluated for each row. */
export type Template =
  /** A text with `{{ expression }}` in it; the result is a text. */
  | { readonly kind: "text"; readonly text: string }
  /** A CEL expression; the result is any JSON. */
  | { readonly kind: "expression"; readonly expression: string };

/** The results of the templates for one row, or why one of them has none. */
export type Evaluated = { readonly values: JsonObject } | { readonly error: Omit<RowError, "row"> };

/** One expression, text or SELECT that is checked when a workflow is saved. */
export type Expression =
  | {
      readonly field: string;
      /** The text of `json_schema` is the schema's JSON. */
      readonly kind: "expression" | "text" | "json_schema";
      readonly text: string;
    }
  /** `tables`: the names of the inputs. */
  | {
      readonly field: string;
      readonly kind: "sql";
      readonly text: string;
      readonly tables: readonly string[];
    };

/** What is wanted of a text of JSON: the members that lead to it, none for the text itself; null for nothing. */
export interface ParseAsked {
  readonly maxDepth: number;
  readonly row: readonly string[] | null;
  readonly value: readonly string[] | null;
}

export interface ParsedText {
  /** Undefined where the members lead to no object. */
  readonly row: RowChunk | undefined;
  /** Null where there is none. */
  readonly value: JsonValue;
}

/**
 * Processes that run what others wrote: expressions, SQL, readers of files. ROW_PROCESSES at once, and one more for what
 * is short, `evaluate`, `parse`, `rewrite` and `check`; 512 MiB each.
 */
export interface RowProcess {
  /**
   * Waits for a free process. Owners take turns, and none has all processes when there are several. Throws a `StepFailure` that names the cause, or the signal's
   * reason.
   */
  readonly run: (
    job: RowJob,
    inputs: readonly StepInput[],
    limits: {
      readonly signal: AbortSignal;
      readonly timeMs: number;
      readonly owner?: string | null;
    },
  ) => AsyncGenerator<RowResult, void>;
  /** Evaluates templates for a few rows, at most one chunk, and frees the process. */
  readonly evaluate: (
    templates: Readonly<Record<string, Template>>,
    rows: readonly MadeRow[],
    scope: ExpressionScope,
    signal: AbortSignal,
  ) => Promise<readonly Evaluated[]>;
  /**
   * Parses a text of JSON that is long for the event loop. Throws a `StepFailure` with the code `invalid_json`,
   * `too_deep` or `row_too_large` for what it cannot take.
   */
  readonly parse: (text: string, asked: ParseAsked, signal: AbortSignal) => Promise<ParsedText>;
  /**
   * Writes a text of JSON again that is long for the event loop, with integers that a number would round as texts.
   * Throws as `parse` does.
   */
  readonly rewrite: (text: string, maxDepth: number, signal: AbortSignal) => Promise<string>;
  /** Returns what is wrong with expressions and SQL, by their fields. Rejects with `overloaded` after some seconds. */
  readonly check: (
    expressions: readonly Expression[],
    owner?: string,
  ) => Promise<readonly { readonly field: string; readonly message: string }[]>;
  readonly close: () => void;
}
