import { and, eq, getTableColumns, type SQL } from "drizzle-orm";
import type { Caller } from "../../core/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { Access } from "../access.ts";

const {
  keyHash: _hash,
  previousKeyHash: _previousHash,
  previousExpiresAt: _previousExpiresAt,
  changeSeq: _changeSeq,
  ...columns
} = getTableColumns(apiKeys);

/** What may be known of an API key: all but its secrets. */
export const API_KEY_COLUMNS = columns;
export type ApiKeyRecord = Omit<
  typeof apiKeys.$inferSelect,
  "keyHash" | "previousKeyHash" | "previousExpiresAt" | "changeSeq"
>;

/** What its owner decides of one. */
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
/** Those of them that are to be set. */
export type ApiKeyPatch = {
  readonly [Name in keyof ApiKeyFields]?: ApiKeyFields[Name] | undefined;
};

/** A key with its secret, to be shown once. */
export interface IssuedApiKey {
  readonly key: ApiKeyRecord;
  /** `sk-` and 43 base62 characters. */
  readonly text: string;
}

/** A key that the caller may see. Rejects with `not_found`. */
export function findApiKey(
  { database }: Pick<Access, "database">,
  caller: Caller,
  id: string,
): Promise<ApiKeyRecord> {
  return database.ask((db) => readApiKey(db, id, visibleKeys(caller)));
}

/** The key of this id, if it is among those. Rejects with `not_found`. */
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

/** The keys that a caller may see: an administrator all, a user their own, a restricted key only itself. */
export function visibleKeys(caller: Caller): SQL | undefined {
  if (isRestrictedKey(caller)) return eq(apiKeys.id, caller.keyId);
  return caller.role === "admin" ? undefined : eq(apiKeys.ownerId, caller.ownerId);
}

/** The keys whose use a caller may see: their own, administrators too; a restricted key only itself. */
export function ownKeys(caller: Caller): SQL | undefined {
  const own = eq(apiKeys.ownerId, caller.ownerId);
  return isRestrictedKey(caller) ? and(own, eq(apiKeys.id, caller.keyId)) : own;
}

/** Refuses a restricted key with `insufficient_permission`: it could lift what restricts it, or make itself a successor. */
export function requireKeyChanges(caller: Caller): void {
  if (!isRestrictedKey(caller)) return;
  throw new ServiceError(
    "insufficient_permission",
    "This key is restricted and changes no key; use a session, or a key without limits.",
  );
}

function isRestrictedKey(caller: Caller): caller is Extract<Caller, { kind: "key" }> {
  return caller.kind === "key" && caller.isRestricted;
}

/** The same for a key that exists and that the caller may not see. */
export function unknownApiKey(): ServiceError {
  return new ServiceError("not_found", "There is no API key of this id; see GET /v1/api-keys.");
}
