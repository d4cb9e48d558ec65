/** The types that columns of views have, as PostgreSQL names them. */
export type ViewColumnType =
  | "text"
  | "integer"
  | "bigint"
  | "numeric"
  | "double precision"
  | "boolean"
  | "date"
  | "timestamp with time zone"
  | "jsonb";

export interface ViewColumn {
  readonly name: string;
  readonly type: ViewColumnType;
  /** What it holds and in which unit; null where nobody said so. */
  readonly comment: string | null;
  readonly nullable: boolean;
}

/** A view of the schema `data`: built in, or a dataset. */
export interface SchemaView {
  /** Also the last part of its path under `/v1/data`. */
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly ViewColumn[];
  /**
   * Columns that together identify a row and never change, for pages. Empty for a dataset without a key: its hidden
   * columns `_load` and `_row` do so (`data/datasets/dataset-tables.ts`).
   */
  readonly key: readonly string[];
  /** Null for a built-in one. */
  readonly dataset: ViewedDataset | null;
}

export interface ViewedDataset {
  readonly id: string;
  readonly ownerId: string | null;
  readonly visibility: "private" | "everyone";
  /** The table in the schema `datasets`; a replacement brings another one. */
  readonly tableName: string;
  readonly version: number;
  readonly rows: number;
  /** Unix milliseconds. */
  readonly updatedAt: number;
}

/** A built-in view, in a file of its own. */
export interface BuiltInView extends Omit<SchemaView, "dataset"> {
  /** The SELECT of the view, over the gateway's tables, its columns in the order of `columns`. */
  readonly select: string;
  /** A SELECT of one row, `rows` (bigint; an estimate is enough) and `updated_at` (timestamptz or null): cheap. */
  readonly extent: string;
  /** How the embedded copy follows it. */
  readonly copied: CopiedBy;
}

/**
 * How rows of a view are copied: `whole` for small ones, `days` for those whose rows belong to a UTC day.
 *
 * Of a view that is copied by days:
 * - A day whose fingerprint is the one of the last copy has the same rows. A day that is no longer listed has none.
 * - Rows of today and yesterday change all the time; those of earlier days rarely, when a journal was found late or
 *   when hours are folded. Ask for the last days often, and for all of them at times.
 * - The cost of the fingerprints is that of the days asked for: the condition reaches the indexes.
 */
export type CopiedBy = { readonly kind: "whole" } | CopiedByDays;

export interface CopiedByDays {
  readonly kind: "days";
  /** The expression of a row's UTC day (date) over the view's columns. No index has it: use `ofDay` to read a day. */
  readonly day: string;
  /** A condition over the view's columns for the rows of the UTC day `$1` (date), which uses an index. */
  readonly ofDay: string;
  /**
   * A SELECT of `day` (date) and `fingerprint` (text), a row for each day that has rows. To ask for the last days only:
   * `select * from (<fingerprints>) as days where day >= $1`.
   */
  readonly fingerprints: string;
}
