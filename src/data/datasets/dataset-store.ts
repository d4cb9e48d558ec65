import { eq, or, type SQL, sql } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { datasets } from "../../db/tables/datasets.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { DatasetViews } from "../views/dataset-views.ts";

/** A dataset as it is stored. */
export type DatasetRow = typeof datasets.$inferSelect;

/** What the functions of this folder stand on. */
export interface DatasetStore {
  readonly database: Pick<Database, "ask" | "askOwn" | "kind">;
  readonly clock: Clock;
  /** DATASET_MAX_ROWS. */
  readonly maxRows: number;
  /**
   * Loads above this size become a part of their table in one step; the rows of smaller ones are moved, which keeps the
   * transaction busy for some 10 µs each.
   */
  readonly moveRows: number;
  /** Tables of loads in progress in this process. */
  readonly ownLoads: Set<string>;
  /** Changes the views of datasets together with them. */
  readonly views: Pick<DatasetViews, "show" | "hide">;
  /** Delivers events that were committed. */
  readonly wake: () => void;
}

/** Whether a caller may read a dataset. A key and a service token act with the rights of their owner and maker. */
function mayRead({ ownerId, visibility }: DatasetRow, caller: AnyCaller): boolean {
  return visibility === "everyone" || caller.role === "admin" || ownerId === caller.ownerId;
}

/** The condition of `mayRead` for a list; undefined when the caller sees every dataset. */
export function readableBy(caller: AnyCaller): SQL | undefined {
  if (caller.role === "admin") return undefined;
  return or(eq(datasets.ownerId, caller.ownerId), eq(datasets.visibility, sql`'everyone'`));
}

/** By id or name. Rejects with `not_found`, also for one that the caller may not read. */
export async function readDataset(
  db: Db,
  caller: AnyCaller,
  idOrName: string,
): Promise<DatasetRow> {
  refuseBoundKey(caller);
  const found = await db
    .select()
    .from(datasets)
    .where(or(eq(datasets.id, idOrName), eq(datasets.name, idOrName)));
  const dataset = found.find(({ id }) => id === idOrName) ?? found[0];
  if (dataset === undefined || !mayRead(dataset, caller)) throw noDataset();
  return dataset;
}

/** Rejects with `not_found`, or with `insufficient_permission` for a caller who may only read it. */
export async function readWritable(
  db: Db,
  caller: AnyCaller,
  idOrName: string,
): Promise<DatasetRow> {
  const dataset = await readDataset(db, caller, idOrName);
  refuseRestrictedKey(caller);
  if (caller.role === "admin" || dataset.ownerId === caller.ownerId) return dataset;
  throw new ServiceError(
    "insufficient_permission",
    "Only the dataset's owner and administrators may change it.",
  );
}

/** Throws `insufficient_permission` for a key with limits: it only reads. */
export function refuseRestrictedKey(caller: AnyCaller): void {
  refuseBoundKey(caller);
  if (caller.kind !== "key" || !caller.isRestricted) return;
  throw new ServiceError(
    "insufficient_permission",
    "This key is restricted and only reads datasets; use a session, or a key without limits.",
  );
}

/** Throws `insufficient_permission` unless an administrator shares a dataset. */
export function refuseSharing(visibility: string | undefined, { role }: AnyCaller): void {
  if (visibility !== "everyone" || role === "admin") return;
  throw new ServiceError(
    "insufficient_permission",
    "Only an administrator may set 'visibility' to 'everyone'.",
    { param: "visibility" },
  );
}

export function noDataset(): ServiceError {
  return new ServiceError("not_found", "There is no such dataset; see GET /api/datasets.");
}

export function tooManyRows({ maxRows }: Pick<DatasetStore, "maxRows">): ServiceError {
  return new ServiceError(
    "invalid_value",
    `The dataset would have more than ${maxRows} rows; the operator sets DATASET_MAX_ROWS.`,
  );
}

function refuseBoundKey(caller: AnyCaller): void {
  if (caller.kind !== "key" || caller.assistantId === null) return;
  throw new ServiceError(
    "insufficient_permission",
    "This API key is bound to an assistant and reads no datasets. Use a key whose `assistant_id` is null.",
  );
}
