import { type SQL, sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { Db } from "../../db/context.ts";
import { apiKeys } from "../../db/tables/api-keys.ts";
import { usageRecords } from "../../db/tables/usage.ts";
import { users } from "../../db/tables/users.ts";
import type { Outcome } from "../usage-record.ts";

/** One metered request as it is shown. Bodies are never stored. */
export interface MeteredRequest {
  readonly id: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly keyId: string;
  /** Null once the key is deleted, as are the next two. */
  readonly keyName: string | null;
  readonly ownerId: string | null;
  readonly ownerName: string | null;
  readonly channel: Channel;
  readonly model: string;
  readonly outcome: Outcome;
  readonly success: boolean;
  /** The HTTP status the client saw. */
  readonly status: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** True when the gateway counted the tokens because the vendor did not. */
  readonly estimated: boolean;
  readonly latencyMs: number;
  readonly firstTokenMs: number | null;
  readonly toolName: string | null;
  /** The assistant that answered, which may be deleted since. */
  readonly assistantId: string | null;
  /** The workflow's run that made the call; null for calls of clients. */
  readonly runId: string | null;
}

type Row = Record<string, unknown> & MeteredRequest;

/** Reads the newest rows that match a condition on `usage_records`, with the keys they belong to. */
export async function selectRequests(
  db: Db,
  condition: SQL,
  limit: number,
): Promise<readonly MeteredRequest[]> {
  // The names are joined to the rows found, so they do not influence the plan of the search.
  return db.execute<Row>(sql`
    with found as (
      select * from ${usageRecords} where ${condition} order by started_at desc, id desc limit ${limit}
    )
    select
      found.id, extract(epoch from started_at)::float8 * 1000 as "startedAt", key_id as "keyId", name as "keyName",
      owner_id as "ownerId", username as "ownerName", channel, model, outcome, success, status,
      input_tokens::float8 as "inputTokens", output_tokens::float8 as "outputTokens",
      cached_tokens::float8 as "cachedTokens", reasoning_tokens::float8 as "reasoningTokens", estimated,
      latency_ms::float8 as "latencyMs", first_token_ms::float8 as "firstTokenMs", tool_name as "toolName",
      found.assistant_id as "assistantId", found.run_id as "runId"
    from found
    left join ${apiKeys} on api_keys.id = key_id
    left join ${users} on users.id = owner_id
    order by started_at desc, found.id desc`);
}
