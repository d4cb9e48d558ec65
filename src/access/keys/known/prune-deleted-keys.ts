import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { deletedApiKeys, formerApiKeys } from "../../../db/tables/api-keys.ts";
import { changeCounters } from "../../../db/tables/change-counters.ts";

/**
 * The change up to which deleted keys have been pruned. A reader that was last up to date before it must read all keys
 * again.
 */
export const PRUNED_COUNTER = "deleted_api_keys";

/** Longer than the two months of which limits count the tokens. */
const FORMER_DAYS = 70;

/** Prunes the keys that were deleted more than a day ago, because every follower has read these deletions. */
export async function pruneDeletedKeys(db: Db): Promise<void> {
  await db.execute(sql`
    delete from ${formerApiKeys} where deleted_at < now() - interval '${sql.raw(String(FORMER_DAYS))} days'`);
  // The comparison uses the database's clock, which set the times.
  await db.execute(sql`
    with forgotten as (
      delete from ${deletedApiKeys} where deleted_at < now() - interval '1 day' returning change_seq
    )
    insert into ${changeCounters} (name, seq)
    select ${PRUNED_COUNTER}, max(change_seq) from forgotten having count(*) > 0
    on conflict (name) do update set seq = greatest(${changeCounters}.seq, excluded.seq)
  `);
}
