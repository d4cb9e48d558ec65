import { sql } from "drizzle-orm";
import type { Channel } from "../../core/channel.ts";
import type { ErrorCode } from "../../core/service-error.ts";
import type { Db } from "../../db/context.ts";
import { toDatabaseError } from "../../db/database-error.ts";
import { limitRefusals, usageSlots } from "../../db/tables/usage.ts";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import { type BatchTurn, NumberedBatches, takeTurn } from "../../limits/numbered-batches.ts";
import { refusalOf } from "../journal/usage-store.ts";

/** A call that a limit of its key refused. */
export interface LimitRefusal {
  readonly keyId: string;
  readonly channel: Channel;
  readonly code: ErrorCode;
  /** When the call came, in Unix milliseconds. */
  readonly at: number;
}

export interface LimitRefusals {
  /** Counts one refusal in memory, so the call does not wait. */
  readonly count: (refusal: LimitRefusal) => void;
  /** Stores the counts in the database; those it does not take now are given again. Never rejects. */
  readonly flush: () => Promise<void>;
  /** Flushes for the last time, within `limitMs`. Never rejects. */
  readonly close: (limitMs: number) => Promise<void>;
}

/** The prefix of refusal writers among the journal checkpoints. */
export const REFUSAL_WRITER = "refusals:";
const SLOT_MS = 600_000;
/** Maximum of distinct counts while they wait, however many keys are tried. */
const TOLD_APART_MAX = 10_000;
/** The key under which further ones are counted together. */
const OTHER_KEYS = "other";
/** Only a few counts per slot remain above that maximum, so this many wait only after weeks without a database. */
const WAITING_MAX = 2 * TOLD_APART_MAX;
/** A statement that hangs longer is retried; it adds nothing twice. */
const STORE_TIMEOUT_MS = 60_000;

type Counts = Map<string, CountedRefusals>;

/**
 * Counts the gateway's own refusals, which have no usage row, by ten minutes, key, channel and code. They wait in
 * memory for the next flush. A killed process loses those of a few seconds, and no refusal is ever counted twice.
 */
export function openLimitRefusals({
  db,
  log,
}: {
  readonly db: Db;
  readonly log: Log;
}): LimitRefusals {
  let counts: Counts = new Map();
  let isFailing = false;
  let running: Promise<void> | undefined;

  const store = async (refusals: readonly CountedRefusals[], turn: BatchTurn): Promise<void> => {
    try {
      const stored = storeRefusals(db, refusals, turn);
      await within(stored, STORE_TIMEOUT_MS, () => new Error("the database hangs"));
    } catch (thrown) {
      if (refusalOf(thrown) !== "values") throw thrown;
      log.error(
        { cause: toDatabaseError(thrown).message, entries: refusals.length },
        "the database rejects the counts of refused calls",
      );
    }
  };
  const take = () => {
    if (counts.size === 0) return undefined;
    const taken = [...counts.values()];
    counts = new Map();
    return taken;
  };
  const batches = new NumberedBatches({ prefix: REFUSAL_WRITER, take, store });
  const run = async (): Promise<void> => {
    try {
      await batches.storeNext();
      isFailing = false;
    } catch (thrown) {
      if (!isFailing)
        log.warn(
          { cause: toDatabaseError(thrown).message },
          "counts of refused calls cannot be written to the database; they are kept in memory",
        );
      isFailing = true;
    }
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
        // Twice: a flush in progress may not include the newest counts.
        await flush();
        await flush();
        await batches.forget(db);
      };
      await within(last(), limitMs, () => new Error("the time is over")).catch((thrown: unknown) =>
        log.warn(
          { cause: toDatabaseError(thrown).message },
          "the last refused calls were not counted",
        ),
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
  /** The error code that the callers received. */
  readonly code: string;
  refusals: number;
}

/**
 * Adds refusals to their hours and to the figures of a day, in one statement and at most once. A batch whose number is
 * already there adds nothing, so it may be retried when its outcome is unknown.
 */
export async function storeRefusals(
  db: Db,
  refusals: readonly CountedRefusals[],
  turn: BatchTurn,
): Promise<void> {
  await db.execute(sql`
    with turn as (${takeTurn(turn)}),
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
