import { sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { apiKeys, formerApiKeys } from "../db/tables/api-keys.ts";
import { usageMonths } from "../db/tables/usage.ts";
import { sessionMonths } from "../db/tables/users.ts";

/** The tokens of a user in one month: of all keys, deleted ones included, and of all sessions. */
export interface OwnerUsage {
  readonly userId: string;
  /** Unix milliseconds. */
  readonly monthBeginsAt: number;
  readonly tokens: number;
}

type OwnerRow = {
  readonly id: string;
  readonly month_begins_at: number;
  readonly tokens: number;
};

/** The owner of each key that exists or was deleted within the months that count. */
const OWNERS = sql`
  select id, owner_id from ${apiKeys} union select id, owner_id from ${formerApiKeys}`;

/**
 * Reports the usage of each user, month by month.
 * @param firstMonth as `2026-07-01`.
 */
export async function readOwnersUsage(
  db: Db,
  firstMonth: string,
  onUsage: (usage: OwnerUsage) => void,
): Promise<void> {
  const rows = await db.execute<OwnerRow>(sql`
    select id, extract(epoch from month)::float8 * 1000 as month_begins_at, sum(tokens)::float8 as tokens
    from (
      select owner_id as id, month, tokens
      from ${usageMonths} join (${OWNERS}) as owners on owners.id = key_id
      where month >= ${firstMonth}::date
      union all
      select user_id, month, tokens from ${sessionMonths} where month >= ${firstMonth}::date
    ) as used
    group by id, month`);
  for (const { id: userId, month_begins_at: monthBeginsAt, tokens } of rows) {
    onUsage({ userId, monthBeginsAt, tokens });
  }
}

/** Reads the owners of keys; a key whose owner was deleted has none. */
export async function readOwners(
  db: Db,
  keyIds: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const ids = JSON.stringify([...new Set(keyIds)]);
  const rows = await db.execute<{ id: string; owner_id: string }>(sql`
    select id, owner_id from (${OWNERS}) as owners
    where id in (select json_array_elements_text(${ids}::text::json))`);
  return new Map(rows.map(({ id, owner_id: ownerId }) => [id, ownerId]));
}
