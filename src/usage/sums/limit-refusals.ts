import { sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { ErrorCode } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { journalCheckpoints, limitRefusals, usageSlots } from "../../db/tables/usage.ts";
import { randomBase62 } from "../../lib/id.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/within.ts";
import { deleteCheckpoints, refusalOf } from "../journal/usage-store.ts";

/** A call that a limit of its key refused. */
export interface LimitRefusal {
  readonly keyId: string;
  readonly channel: Channel;
  readonly code: ErrorCode;
  /** When the call came, in Unix milliseconds. */
  readonly at: number;
}

export interface LimitRefusals {
  /** Counts one, in memory. Costs the call nothing that it could wait for. */
  readonly count: (refusal: LimitRefusal) => void;
  /** Brings what is counted to the database; what that does not take now is given again. Never rejects. */
  readonly flush: () => Promise<void>;
  /** Flushes for the last time, within `limitMs`. Never rejects. */
  readonly close: (limitMs: number) => Promise<void>;
}

/** What begins the names of the writers of refusals among the checkpoints of the journals. */
export const REFUSAL_WRITER = "refusals:";
const SLOT_MS = 600_000;
/** So many different ones are told apart while they wait, however many keys are tried. */
const TOLD_APART_MAX = 10_000;
/** Further ones are counted together, as of this key. */
const OTHER_KEYS = "other";
/** Those come to a few a slot: as many are left only after weeks without a database. */
const WAITING_MAX = 2 * TOLD_APART_MAX;
/** A statement that hangs longer is given again; it adds nothing twice. */
const STORE_TIMEOUT_MS = 60_000;

type Counts = Map<string, CountedRefusals>;

/** A set of refusals that is given with the same number until it is stored. */
interface Batch {
  readonly number: number;
  readonly refusals: readonly CountedRefusals[];
}

/**
 * Counts our own refusals, which have no usage row, by ten minutes, key, channel and code. They wait in memory for the
 * next flush: a process that is killed loses those of a few seconds, and nothing is ever counted twice.
 */
export function openLimitRefusals({
  db,
  log,
}: {
  readonly db: Db;
  readonly log: Log;
}): LimitRefusals {
  const writer = `${REFUSAL_WRITER}${randomBase62(16)}`;
  let counts: Counts = new Map();
  let batch: Batch | undefined;
  let batches = 0;
  let isFailing = false;
  let running: Promise<void> | undefined;

  /** False when the batch has to be given again. */
  const store = async ({ refusals, number }: Batch): Promise<boolean> => {
    try {
      const stored = storeRefusals(db, refusals, { writer, batch: number });
      await within(stored, STORE_TIMEOUT_MS, () => new Error("the database hangs"));
      isFailing = false;
      return true;
    } catch (thrown) {
      const cause = toDatabaseError(thrown).message;
      if (refusalOf(thrown) === "values") {
        log.error({ cause, entries: refusals.length }, "the database refuses to count refusals");
        return true;
      }
      if (!isFailing)
        log.warn({ cause }, "refusals of limits do not reach the database; they wait");
      isFailing = true;
      return false;
    }
  };
  const run = async (): Promise<void> => {
    if (batch === undefined && counts.size > 0) {
      batches += 1;
      batch = { number: batches, refusals: [...counts.values()] };
      counts = new Map();
    }
    if (batch !== undefined && (await store(batch))) batch = undefined;
  };
  const flush = (): Promise<void> => {
    running ??= run().finally(() => {
      running = undefined;
    });
    return running;
  };

  return {
    count(refusal) {
      if (counts.size < WAITING_MAX) addTo(counts, refusal);
    },
    flush,
    async close(limitMs) {
      const last = async () => {
        // One may be under way, and have left the newest behind.
        await flush();
        await flush();
        if (batches > 0 && !isFailing) await deleteCheckpoints(db, writer);
      };
      await within(last(), limitMs, () => new Error("the time is over")).catch((thrown: unknown) =>
        log.warn({ cause: toDatabaseError(thrown).message }, "the last refusals are not counted"),
      );
    },
  };
}

function addTo(counts: Counts, { keyId, channel, code, at }: LimitRefusal): void {
  const slot = Math.floor(at / SLOT_MS) * SLOT_MS;
  const nameOf = (key: string) => `${slot} ${channel} ${code} ${key}`;
  const own = counts.get(nameOf(keyId));
  if (own !== undefined) {
    own.refusals += 1;
    return;
  }
  const key = counts.size < TOLD_APART_MAX ? keyId : OTHER_KEYS;
  const entry = counts.get(nameOf(key));
  if (entry === undefined)
    counts.set(nameOf(key), { slot, keyId: key, channel, code, refusals: 1 });
  else entry.refusals += 1;
}

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
