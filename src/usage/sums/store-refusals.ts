import { sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import { journalCheckpoints, limitRefusals, usageSlots } from "../../db/tables/usage.ts";

/** The calls of one key that one of its limits refused within ten minutes. */
export interface CountedRefusals {
  /** The beginning of the ten minutes, in Unix milliseconds. */
  readonly slot: number;
  readonly keyId: string;
  readonly channel: Channel;
  /** The code that the callers were told. */
  readonly code: string;
  refusals: number;
}

/**
 * Adds refusals to their hours and to the figures of a day, in one statement and at most once: as a journal has its
 * checkpoint, a writer has the number of its last batch beside what it wrote, and a batch whose number is there
 * already adds nothing. So it may be given again when nobody knows whether it was stored.
 *
 * @param writer a name that no other process has and no journal either.
 * @param batch counts up from 1.
 */
export async function storeRefusals(
  db: Db,
  refusals: readonly CountedRefusals[],
  { writer, batch }: { readonly writer: string; readonly batch: number },
): Promise<void> {
  await db.execute(sql`
    with turn as (
      insert into ${journalCheckpoints} as present (journal, segment, byte_offset) values (${writer}, 0, ${batch})
      on conflict (journal, segment) do update set byte_offset = excluded.byte_offset, updated_at = now()
        where present.byte_offset < excluded.byte_offset
      returning journal
    ),
    given as (
      select to_timestamp(refused.slot / 1000) as slot, refused."keyId" as key_id, refused.channel, refused.code,
        refused.refusals::bigint as refusals
      from json_to_recordset(${JSON.stringify(refusals)}::text::json) as refused (
        slot float8, "keyId" text, channel text, code text, refusals float8
      )
      where exists (select from turn)
    ),
    hours as (
      insert into ${limitRefusals} as present (hour, key_id, channel, code, refusals)
      select date_trunc('hour', slot, 'UTC') as hour, key_id, channel, code, sum(refusals)
      from given
      group by 1, 2, 3, 4
      order by 1, 2, 3, 4
      on conflict (hour, key_id, channel, code) do update set refusals = present.refusals + excluded.refusals
    )
    insert into ${usageSlots} as present (
      slot, channel, requests, errors, rate_limited, input_tokens, output_tokens
    )
    select slot, channel, sum(refusals), 0, sum(refusals), 0, 0
    from given
    group by slot, channel
    order by slot, channel
    on conflict (slot, channel) do update set
      requests = present.requests + excluded.requests,
      rate_limited = present.rate_limited + excluded.rate_limited`);
}
