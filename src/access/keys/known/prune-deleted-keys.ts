import { sql } from "drizzle-orm";
import type { Db } from "../../../db/context.ts";
import { deletedApiKeys } from "../../../db/tables/api-keys.ts";
import { changeCounters } from "../../../db/tables/change-counters.ts";

/** The change up to which deleted keys have been forgotten: who was last up to date before it reads everything anew. */
export const PRUNED_COUNTER = "deleted_api_keys";

/** Forgets the keys that were deleted more than a day ago: whoever follows the changes has heard of them. */
export async function pruneDeletedKeys(db: Db): Promise<void> {
  // By the database's clock, which set the moments.
  await db.execute(sql`
    with forgotten as (
      delete from ${deletedApiKeys} where deleted_at < now() - interval '1 day' returning change_seq
    )
    insert into ${changeCounters} (name, seq)
    select ${PRUNED_COUNTER}, max(change_seq) from forgotten having count(*) > 0
    on conflict (name) do update set seq = greatest(${changeCounters}.seq, excluded.seq)
  `);
}
