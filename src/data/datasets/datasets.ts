import type { Caller } from "../../core/callers/caller.ts";
import type { Db } from "../../db/context.ts";
import type { DatasetColumn } from "../../db/tables/datasets.ts";
import type { JsonObject } from "../../lib/json/json.ts";

export const DATASET_CHANGES = ["append", "replace", "upsert"] as const;
export type DatasetChange = (typeof DATASET_CHANGES)[number];

export interface Dataset {
  /** `ds_` and 22 base62 characters. */
  readonly id: string;
  readonly name: string;
  /** Null once the user is deleted. */
  readonly ownerId: string | null;
  readonly visibility: "private" | "everyone";
  readonly columns: readonly DatasetColumn[];
  readonly key: readonly string[];
  readonly rows: number;
  readonly version: number;
}

/** The run that writes, for the event and the chain. */
export interface DatasetWriter {
  readonly runId: string;
  /** Its own workflow last. */
  readonly chain: readonly string[];
}

/** A row that a dataset cannot take. */
export interface DatasetRowFault {
  /** Counted from 1 over all rows that were added. */
  readonly row: number;
  readonly column: string | null;
  readonly message: string;
}

/** What a dataset is created with. */
export interface NewDataset {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly visibility?: "private" | "everyone" | undefined;
  readonly columns: readonly DatasetColumn[];
  readonly key?: readonly string[] | undefined;
}

/**
 * Rows on their way into a dataset: added in batches to a table of their own, then taken over in one transaction, so
 * that readers see all of them or none.
 */
export interface DatasetLoad {
  /** Adds rows, and returns those that the dataset cannot take; these are not added. */
  readonly add: (rows: readonly JsonObject[]) => Promise<readonly DatasetRowFault[]>;
  /**
   * Does in short steps what would keep a commit busy. Called after the last `add` and before each `commit`, outside a
   * transaction.
   */
  readonly prepare: () => Promise<void>;
  /**
   * Applies the change in the caller's transaction, raises the version, and stores the event `dataset.updated`. Rejects
   * with `changed_meanwhile` when a large upsert met another change; `prepare` and a new transaction help.
   */
  readonly commit: (transaction: Db, writer: DatasetWriter | null) => Promise<Dataset>;
  /** Drops what was added; harmless after the commit's transaction. Never rejects. */
  readonly discard: () => Promise<void>;
}

/** Datasets as workflow steps use them. All reject with a `ServiceError`. */
export interface Datasets {
  /** By id or name, with the rights of a caller. Rejects with `not_found`. */
  readonly find: (caller: Caller, idOrName: string) => Promise<Dataset>;
  /** May this caller write it? Rejects with `insufficient_permission` or `not_found`. */
  readonly refuseWriting: (caller: Caller, idOrName: string) => Promise<void>;
  /** Streams the rows as they were when the reading began, in batches of at most a thousand. */
  readonly read: (
    dataset: Dataset,
    signal: AbortSignal,
  ) => AsyncGenerator<readonly JsonObject[], void>;
  readonly load: (dataset: Dataset, change: DatasetChange) => Promise<DatasetLoad>;
  /**
   * A load into a dataset that its commit creates, so that neither exists without the other. Rejects with
   * `invalid_value` for a name that is taken or columns that no table can have.
   */
  readonly loadNew: (ownerId: string, dataset: NewDataset) => Promise<DatasetLoad>;
  /** After a commit: delivers the event at once. */
  readonly wake: () => void;
}
