import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import type { Database } from "../../db/database.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";

const {
  keyHash: _hash,
  previousKeyHash: _previousHash,
  previousExpiresAt: _previousExpiresAt,
  changeSeq: _changeSeq,
  ...columns
} = getTableColumns(apiKeys);

/** The readable columns of an API key: all except its secrets. */
export const API_KEY_COLUMNS = columns;
export type ApiKeyRecord = Omit<
  typeof apiKeys.$inferSelect,
  "keyHash" | "previousKeyHash" | "previousExpiresAt" | "changeSeq"
>;

/** The fields of an API key that its owner sets. */
export type ApiKeyFields = Pick<
  ApiKeyRecord,
  | "name"
  | "state"
  | "assistantId"
  | "passthrough"
  | "maxLevel"
  | "toolScope"
  | "monthlyTokenLimit"
  | "requestLimit"
  | "rpmLimit"
  | "tokenLimit"
  | "ipAllow"
  | "expiresAt"
>;
/** The fields to change. */
export type ApiKeyPatch = {
  readonly [Name in keyof ApiKeyFields]?: ApiKeyFields[Name] | undefined;
};

/** A key with its secret, which is shown once. */
export interface IssuedApiKey {
  readonly key: ApiKeyRecord;
  /** `sk-` and 43 base62 characters. */
  readonly text: string;
}

/** Finds a key that the caller may see. Rejects with `not_found`. */
export function findApiKey(
  { database }: { readonly database: Pick<Database, "ask"> },
  caller: AnyCaller,
  id: string,
): Promise<ApiKeyRecord> {
  return database.ask((db) => readApiKey(db, id, visibleKeys(caller)));
}

/** Returns the key with this id, if it meets the condition `among`. Rejects with `not_found`. */
export async function readApiKey(
  db: Db,
  id: string,
  among: SQL | undefined,
): Promise<ApiKeyRecord> {
  const [key] = await db
    .select(API_KEY_COLUMNS)
    .from(apiKeys)
    .where(and(eq(apiKeys.id, id), among));
  if (key === undefined) throw unknownApiKey();
  return key;
}

/**
 * Builds the condition for the keys that a caller may see: an administrator all, a user their own, a restricted key
 * only itself.
 */
export function visibleKeys(caller: AnyCaller): SQL | undefined {
  if (isRestrictedKey(caller)) return eq(apiKeys.id, caller.keyId);
  return caller.role === "admin" ? undefined : eq(apiKeys.ownerId, caller.ownerId);
}

/**
 * Builds the condition for the keys whose usage a caller may see: their own, even for administrators; a restricted key
 * only itself.
 */
export function ownKeys(caller: AnyCaller): SQL | undefined {
  const own = eq(apiKeys.ownerId, caller.ownerId);
  return isRestrictedKey(caller) ? and(own, eq(apiKeys.id, caller.keyId)) : own;
}

/**
 * Refuses a restricted key with `insufficient_permission`, because it could lift its own restrictions or create a
 * successor.
 */
export function requireKeyChanges(caller: AnyCaller): void {
  if (!isRestrictedKey(caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "This key is restricted and cannot change keys. Use a session, or a key without limits.",
  );
}

function isRestrictedKey(caller: AnyCaller): caller is Extract<AnyCaller, { kind: "key" }> {
  return caller.kind === "key" && caller.isRestricted;
}

/** Returns the error for an unknown key. A key that exists but is not visible to the caller gets the same error. */
export function unknownApiKey(): ServiceError {
  return new ServiceError("not_found", "There is no API key of this id; see GET /v1/api-keys.");
}
