import { inArray, type SQL, sql } from "drizzle-orm";
import type { Actor } from "../../access/actor.ts";
import { change } from "../../access/change.ts";
import type { Caller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { vectorStores } from "../../db/tables/knowledge.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { FileConnection } from "../file-connections.ts";
import { mayChange, mayUse } from "../rights.ts";

/** The dependencies of the functions in this folder. */
export interface Stores {
  readonly database: Pick<Database, "ask">;
  readonly clock: Clock;
  /** Returns the embedding model that serves a name, or the default. Rejects with a `ServiceError`. */
  readonly resolveModel: (name: string | undefined) => Promise<string>;
  /** Starts committed jobs of the ingestion immediately. */
  readonly wakeIngestion: () => void;
  /** The file connections whose folders can be added. */
  readonly fileConnections: () => readonly Pick<FileConnection, "name" | "isWatched">[];
}

/** A vector store as the database has it. */
export type StoreRow = typeof vectorStores.$inferSelect;

interface StoreChange {
  readonly id: string;
  readonly verb: "update" | "delete" | "reindex" | "add_files" | "change_file" | "remove_file";
  /** For the audit log. */
  readonly details?: JsonObject;
}

/**
 * Changes a store or its files, in one transaction that has locked the store. It is audited when the store is somebody
 * else's. Rejects with `not_found`, and with `insufficient_permission` where the caller may only use the store.
 */
export async function changeStore<Result>(
  stores: Stores,
  actor: Actor,
  { id, verb, details = {} }: StoreChange,
  work: (transaction: Db, store: StoreRow) => Promise<Result>,
): Promise<Result> {
  const frame = {
    action: `vector_store.${verb}`,
    targetKind: "vector_store",
    targetId: id,
  } as const;
  const result = await change(stores, actor, frame, async (transaction) => {
    const [row] = await transaction
      .select()
      .from(vectorStores)
      .where(isStore(id))
      // A deletion ends with the strongest lock: whoever takes it after a weaker one waits for those who wait for him.
      .for(verb === "delete" ? "update" : "no key update");
    const store = usable(row, actor.caller);
    refuseChange(store, actor.caller);
    const isOwn = store.ownerId === actor.caller.ownerId;
    const made = await work(transaction, store);
    return { result: made, details: isOwn ? null : { name: store.name, ...details } };
  });
  stores.wakeIngestion();
  return result;
}

/**
 * Returns a store's row, locked for a change of it or its files in the caller's transaction. Rejects with `not_found`,
 * and with `insufficient_permission` where the caller may only use the store.
 */
export async function lockStore(transaction: Db, id: string, caller: Caller): Promise<StoreRow> {
  const [row] = await transaction
    .select()
    .from(vectorStores)
    .where(isStore(id))
    .for("no key update");
  const store = usable(row, caller);
  refuseChange(store, caller);
  return store;
}

/** Returns the store's row when the caller may use it. Rejects with `not_found`. */
export async function readStore(db: Db, id: string, caller: Caller): Promise<StoreRow> {
  const [row] = await db.select().from(vectorStores).where(isStore(id));
  return usable(row, caller);
}

/** Returns the embedding model of the first of the stores that exists; undefined when none does. */
export async function readEmbeddingModel(
  db: Db,
  ids: readonly string[],
): Promise<string | undefined> {
  const rows = await db
    .select({ id: vectorStores.id, model: vectorStores.embeddingModel })
    .from(vectorStores)
    .where(inArray(vectorStores.id, [...ids]));
  const first = ids.find((id) => rows.some((row) => row.id === id));
  return rows.find(({ id }) => id === first)?.model;
}

export function isExpired({ expiresAt }: Pick<StoreRow, "expiresAt">, now: number): boolean {
  return expiresAt !== null && expiresAt.getTime() <= now;
}

/** Throws `invalid_value` for a store that has expired. */
export function refuseExpired(store: StoreRow, now: number): void {
  if (!isExpired(store, now)) return;
  throw new ServiceError(
    "invalid_value",
    `The vector store '${store.id}' has expired. Create a new one, or extend it with 'expires_after'.`,
    { param: "vector_store_id" },
  );
}

function usable(row: StoreRow | undefined, caller: Caller): StoreRow {
  if (row !== undefined && mayUse(row, caller)) return row;
  throw new ServiceError(
    "not_found",
    "There is no vector store of this id; see GET /v1/vector_stores.",
  );
}

function refuseChange(store: StoreRow, caller: Caller): void {
  if (mayChange(store, caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "This vector store is shared with you: you may search it, and only its owner or an administrator changes it.",
  );
}

function isStore(id: string): SQL {
  return sql`${vectorStores.id} = ${id}`;
}
