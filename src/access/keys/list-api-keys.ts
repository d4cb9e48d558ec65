import { and, count, desc, eq, ilike, or, type SQL } from "drizzle-orm";
import type { AnyCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import { escapeLike } from "../../db/escape-like.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import type { Access } from "../access.ts";
import { API_KEY_COLUMNS, type ApiKeyRecord, visibleKeys } from "./api-key-record.ts";

export interface ApiKeyQuery {
  /** A part of the name in any case, a whole id, or the last four characters. */
  readonly search?: string | undefined;
  readonly state?: ApiKeyRecord["state"] | undefined;
  readonly ownerId?: string | undefined;
  readonly assistantId?: string | undefined;
  readonly limit: number;
  readonly offset: number;
}

export interface ApiKeyList {
  readonly keys: readonly ApiKeyRecord[];
  /** The number of keys on all pages. */
  readonly total: number;
}

/**
 * Lists keys that the caller may see, newest first. Rejects with `insufficient_permission` when a caller without the
 * administrator role asks for another user's keys.
 */
export async function listApiKeys(
  { database }: Pick<Access, "database">,
  caller: AnyCaller,
  query: ApiKeyQuery,
): Promise<ApiKeyList> {
  if (caller.role !== "admin" && query.ownerId !== undefined && query.ownerId !== caller.ownerId) {
    throw new ServiceError(
      "insufficient_permission",
      "Only an administrator sees the keys of other users.",
      { param: "owner_id" },
    );
  }
  const condition = and(visibleKeys(caller), ...conditionsOf(query));
  return database.ask(async (db) => {
    const [counted] = await db.select({ total: count() }).from(apiKeys).where(condition);
    const keys = await db
      .select(API_KEY_COLUMNS)
      .from(apiKeys)
      .where(condition)
      .orderBy(desc(apiKeys.createdAt), desc(apiKeys.id))
      .limit(query.limit)
      .offset(query.offset);
    return { keys, total: counted?.total ?? 0 };
  });
}

function conditionsOf({
  search,
  state,
  ownerId,
  assistantId,
}: ApiKeyQuery): readonly (SQL | undefined)[] {
  return [
    state && eq(apiKeys.state, state),
    ownerId === undefined ? undefined : eq(apiKeys.ownerId, ownerId),
    assistantId === undefined ? undefined : eq(apiKeys.assistantId, assistantId),
    search === undefined
      ? undefined
      : or(
          ilike(apiKeys.name, `%${escapeLike(search)}%`),
          eq(apiKeys.id, search),
          eq(apiKeys.lastFour, search),
        ),
  ];
}
