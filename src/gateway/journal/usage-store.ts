import { sql } from "drizzle-orm";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";

/** How far the database has a journal. */
export interface Checkpoint {
  readonly journal: string;
  readonly segment: number;
  /** Bytes from the segment's beginning. */
  readonly byteOffset: number;
}

/**
 * Inserts usage records, given as their JSON, each at most once for good, and moves the checkpoint in the same
 * statement: one round trip, one transaction. The texts reach the database as they stand in the journal: not
 * parsed here, and `json` is a third cheaper there than `jsonb`.
 */
export async function insertUsage(
  db: Db,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  await db.execute(sql`
    with inserted as (
      insert into usage_records (
        id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens,
        cached_tokens, reasoning_tokens, estimated, latency_ms, first_token_ms, tool_name
      )
      select
        record.id, to_timestamp(record."startedAt" / 1000.0), record."keyId", record.channel, record.model,
        record.outcome, record.outcome = 'ok', record.status, record."inputTokens", record."outputTokens",
        record."cachedTokens", record."reasoningTokens", record.estimated, record."latencyMs",
        record."firstTokenMs", record."toolName"
      from json_to_recordset(${`[${records.join(",")}]`}::text::json) as record (
        id text, "startedAt" bigint, "keyId" text, channel text, model text, outcome text, status integer,
        "inputTokens" bigint, "outputTokens" bigint, "cachedTokens" bigint, "reasoningTokens" bigint,
        estimated boolean, "latencyMs" bigint, "firstTokenMs" bigint, "toolName" text
      )
      on conflict (id) do nothing
    )
    insert into journal_checkpoints (journal, segment, byte_offset)
    values (${checkpoint.journal}, ${checkpoint.segment}, ${checkpoint.byteOffset})
    on conflict (journal, segment)
      do update set byte_offset = excluded.byte_offset, updated_at = now()`);
}

/** Segment number to the offset up to which the database has that segment. */
export async function readCheckpoints(db: Db, journal: string): Promise<Map<number, number>> {
  const rows = await db.execute<{ segment: number; byte_offset: string }>(
    sql`select segment, byte_offset from journal_checkpoints where journal = ${journal}`,
  );
  return new Map(rows.map((row) => [row.segment, Number(row.byte_offset)]));
}

/** Forgets the checkpoint of one segment, or of the whole journal. */
export async function deleteCheckpoints(db: Db, journal: string, segment?: number): Promise<void> {
  const one = segment === undefined ? sql`` : sql` and segment = ${segment}`;
  await db.execute(sql`delete from journal_checkpoints where journal = ${journal}${one}`);
}

/**
 * True when the database refuses the values, as it will every time. Classes: 22 data, 23 constraint,
 * 54 a value too large for an index.
 */
export function refusesValues(thrown: unknown): boolean {
  return /^(22|23|54)/.test(toDatabaseError(thrown).code);
}
