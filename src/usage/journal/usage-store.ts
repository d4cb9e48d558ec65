import { type SQL, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import {
  journalCheckpoints,
  latencyHours,
  usageRecords,
  usageSlots,
} from "../../db/tables/usage.ts";
import { addSums, DAYS, HOURS, MODEL_HOURS, MONTHS, selectSums } from "../sums/usage-sums.ts";

/** The position up to which the database has a journal. */
export interface Checkpoint {
  readonly journal: string;
  readonly segment: number;
  /** Bytes from the segment's beginning. */
  readonly byteOffset: number;
}

/**
 * Inserts usage records, given as their JSON, each at most once ever, adds new ones to all sums, and moves the
 * checkpoint. One statement does it all: one round trip, one transaction. The texts are not parsed here, and the
 * database reads `json` a third cheaper than `jsonb`. Numbers are read as JSON numbers and rounded by the columns, so
 * half a millisecond does not invalidate a record. Records are inserted in the order of their ids, so two replays of
 * the same records wait for each other and do not deadlock.
 */
export async function insertUsage(
  db: Db,
  records: readonly string[],
  checkpoint: Checkpoint,
): Promise<void> {
  const values = [
    `[${records.join(",")}]`,
    checkpoint.journal,
    checkpoint.segment,
    checkpoint.byteOffset,
  ];
  await db.execute(withValues(values));
}

/** The text of the statement around its parameters. Rendering the statement takes milliseconds, and it never changes. */
let statement: readonly string[] | undefined;

function withValues(values: readonly (string | number)[]): SQL {
  statement ??= new PgDialect().sqlToQuery(insertStatement()).sql.split(/\$\d+/);
  return sql.join(
    statement.map((text, index) =>
      index < values.length ? sql`${sql.raw(text)}${values[index]}` : sql.raw(text),
    ),
  );
}

/** The statement, with its parameters in the order records, journal, segment, byte offset. */
function insertStatement(): SQL {
  return sql`
    with inserted as (
      insert into ${usageRecords} (
        id, started_at, key_id, channel, model, outcome, success, status, input_tokens, output_tokens,
        cached_tokens, reasoning_tokens, estimated, latency_ms, first_token_ms, tool_name,
        assistant_id, run_id, extra_charge
      )
      select
        record.id, to_timestamp(record."startedAt" / 1000), record."keyId", record.channel, record.model,
        record.outcome, record.outcome = 'ok', record.status, record."inputTokens", record."outputTokens",
        record."cachedTokens", record."reasoningTokens", record.estimated, record."latencyMs",
        record."firstTokenMs", record."toolName", record."assistantId",
        record."runId", coalesce(record."extraCharge", 0)
      from json_to_recordset(${"[]"}::text::json) as record (
        id text, "startedAt" float8, "keyId" text, channel text, model text, outcome text, status float8,
        "inputTokens" float8, "outputTokens" float8, "cachedTokens" float8, "reasoningTokens" float8,
        estimated boolean, "latencyMs" float8, "firstTokenMs" float8, "toolName" text,
        "assistantId" text, "runId" text, "extraCharge" float8
      )
      order by record.id
      on conflict (id, started_at) do nothing
      returning
        started_at, key_id, model, channel, outcome, latency_ms, input_tokens, output_tokens, cached_tokens,
        reasoning_tokens, extra_charge
    ),
    ${rollupUsage()}
    insert into ${journalCheckpoints} (journal, segment, byte_offset)
    values (${""}, ${0}, ${0})
    on conflict (journal, segment)
      do update set byte_offset = excluded.byte_offset, updated_at = now()`;
}

/** Maps segment numbers to the offset up to which the database has that segment. */
export async function readCheckpoints(db: Db, journal: string): Promise<Map<number, number>> {
  const rows = await db.execute<{ segment: number; byte_offset: string }>(
    sql`select segment, byte_offset from ${journalCheckpoints} where journal = ${journal}`,
  );
  return new Map(rows.map((row) => [row.segment, Number(row.byte_offset)]));
}

/** Deletes the checkpoint of one segment, or of the whole journal. */
export async function deleteCheckpoints(db: Db, journal: string, segment?: number): Promise<void> {
  const one = segment === undefined ? sql`` : sql` and segment = ${segment}`;
  await db.execute(sql`delete from ${journalCheckpoints} where journal = ${journal}${one}`);
}

const CHECK_VIOLATION = "23514";
/** Classes: 22 data, 23 constraint, 54 a value too large for an index. */
const VALUES = /^(22|23|54)/;
/** Classes: 09 and 27 triggers, 2F, 38 and 39 routines, 44 check option, P0 raised by a routine. */
const RULES = /^(09|27|2F|38|39|44|P0)/;

/**
 * Returns why the database refuses records: for their values, which is permanent, or by the operator's own rule, which
 * may refuse all of them for a while. Undefined when the database is unavailable.
 */
export function refusalOf(thrown: unknown): "values" | "rule" | undefined {
  const { code, constraint } = toDatabaseError(thrown);
  // The row was routed to the partition of other days while its day got its own: a retry finds that.
  if (code === CHECK_VIOLATION && constraint === undefined) return undefined;
  if (VALUES.test(code)) return "values";
  return RULES.test(code) ? "rule" : undefined;
}

/**
 * Builds the part of a statement that adds the rows it has `inserted` to all sums and to the histogram of latencies.
 * Rows are locked in the order of their primary keys, and tables always in this order, so that concurrent replicas wait
 * for each other and do not deadlock.
 */
function rollupUsage(): SQL {
  const sums = sql`sums`;
  return sql`
    sums as (${selectSums(HOURS, sql`inserted`)}),
    hours as (${addSums(HOURS, sql`select * from sums`)}),
    models as (${addSums(MODEL_HOURS, selectSums(MODEL_HOURS, sums))}),
    days as (${addSums(DAYS, selectSums(DAYS, sums))}),
    months as (${addSums(MONTHS, selectSums(MONTHS, sums))}),
    slots as (
      insert into ${usageSlots} as present (
        slot, channel, requests, errors, rate_limited, input_tokens, output_tokens
      )
      select
        date_bin('10 minutes', started_at, 'epoch') as slot, channel, count(*),
        count(*) filter (where outcome = 'error'), count(*) filter (where outcome = 'rate_limited'),
        sum(input_tokens), sum(output_tokens)
      from inserted
      group by 1, 2
      order by 1, 2
      on conflict (slot, channel) do update set
        requests = present.requests + excluded.requests,
        errors = present.errors + excluded.errors,
        rate_limited = present.rate_limited + excluded.rate_limited,
        input_tokens = present.input_tokens + excluded.input_tokens,
        output_tokens = present.output_tokens + excluded.output_tokens
    ),
    latencies as (
      insert into ${latencyHours} as present (hour, bucket, requests, latency_ms)
      select
        date_trunc('hour', started_at, 'UTC') as hour, round(50 * ln(1 + greatest(latency_ms, 0)))::int as bucket,
        count(*), sum(latency_ms)
      from inserted
      group by 1, 2
      order by 1, 2
      on conflict (hour, bucket) do update set
        requests = present.requests + excluded.requests,
        latency_ms = present.latency_ms + excluded.latency_ms
    )`;
}
