import type { ViewColumn } from "../views/data-view.ts";

/** What the server sends to the data process with `POST /copy`, one after another, to feed the embedded copy. */
export type FeedRequest =
  /**
   * Begins a round. A copy with another mark is deleted; views that are not listed leave it, and those whose shape
   * changed are gone until their next `apply`. Answered by `CopyStates`.
   */
  | { readonly type: "begin"; readonly mark: string; readonly views: readonly FedView[] }
  /** Adds rows to what the next `apply` of the view brings. */
  | { readonly type: "rows"; readonly view: string; readonly rows: string }
  /** Adds rows of a dataset, by `_load` and `_row`, to what the next `apply` removes. */
  | { readonly type: "gone"; readonly view: string; readonly rows: string }
  /** Forgets what was added since the last `apply`. */
  | { readonly type: "discard"; readonly view: string }
  | ApplyRequest
  /** Views that did not change: they are still as the server had them at that time. */
  | { readonly type: "unchanged"; readonly views: readonly string[]; readonly asOf: number }
  /** Ends a round: every view is whole, and clients may read. */
  | { readonly type: "whole" };

/** Shows a view's new rows at once. */
export interface ApplyRequest {
  readonly type: "apply";
  readonly view: string;
  /** The rows to remove before: all, those of a condition over the view's columns, or only those of `gone`. */
  readonly remove:
    | { readonly kind: "all" | "gone" }
    | { readonly kind: "where"; readonly condition: string };
  /** What the server wants to know at the next `begin`. */
  readonly state: string;
  /** Unix milliseconds: rows committed until then are in the copy. */
  readonly asOf: number;
}

export interface FedView {
  readonly name: string;
  readonly comment: string | null;
  readonly columns: readonly ViewColumn[];
  readonly key: readonly string[];
  /**
   * The dataset that it shows, whose rows are known by the hidden columns `_load` and `_row`; another one of its name is
   * another view. Null for a built-in view.
   */
  readonly datasetId: string | null;
}

/** By view: null where it has never been whole. */
export type CopyStates = Readonly<
  Record<string, { readonly state: string; readonly asOf: number } | null>
>;

/** The longest text of rows that a request brings, in characters. */
export const FEED_TEXT_MAX = 16 * 1024 * 1024;
