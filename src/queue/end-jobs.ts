import { and, inArray, isNull, type SQL, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { lockOrderKeys } from "./enqueue.ts";

const DAY_MS = 86_400_000;
const KEEP_DONE_MS = DAY_MS;
/** Long enough to investigate the failure. */
const KEEP_DEAD_MS = 30 * DAY_MS;
const BATCH_ROWS = 500;
/** Remaining rows wait for the next call: pruning deletes far more jobs than the workers can finish. */
const PRUNE_MAX_MS = 30_000;

export interface GivingUp {
  /** The topic's name. */
  readonly topic: string;
  /** Unix milliseconds: only jobs due before, which no replica tries; undefined takes all. */
  readonly dueBefore?: number | undefined;
  /** Short: the cause, and what to do. */
  readonly reason: string;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Gives up the pending jobs of a topic without a worker; jobs in progress on a replica are skipped.
 * @returns how many.
 */
export async function giveUpJobs(
  db: Db,
  { topic, dueBefore, reason, now }: GivingUp,
): Promise<number> {
  const due = dueBefore === undefined ? sql`true` : sql`next_attempt_at < ${moment(dueBefore)}`;
  const rows = await db.execute(sql`
    update ${outboxEvents}
    set dead_at = ${moment(now)}, last_error = ${reason}, lease_until = null
    where sink = ${topic} and delivered_at is null and dead_at is null and ${due}
      and (lease_until is null or lease_until < now())
    returning id`);
  return rows.length;
}

/**
 * Ends waiting and running jobs in the caller's transaction. From its commit on no outcome of theirs is recorded, and
 * the signal of a running job is aborted within two seconds. The next job of an order key may start in the meantime.
 * @returns the ids of the jobs that had not ended before.
 */
export async function withdrawJobs(
  transaction: Db,
  ids: readonly string[],
  { reason, now }: Pick<GivingUp, "reason" | "now">,
): Promise<readonly string[]> {
  const { id, deliveredAt, deadAt } = outboxEvents;
  const rows = await transaction
    .update(outboxEvents)
    .set({ deadAt: new Date(now), lastError: reason, leaseUntil: null })
    .where(and(inArray(id, [...ids]), isNull(deliveredAt), isNull(deadAt)))
    .returning({ id });
  return rows.map((row) => row.id);
}

/**
 * Makes dead jobs pending again, with all their tries, due immediately. A job with an order key becomes the last of its
 * key. The last error stays, because it explains the retry.
 * @param ids of dead jobs that the transaction has locked.
 * @param now Unix milliseconds.
 */
export async function redriveJobs(
  transaction: Db,
  ids: readonly string[],
  now: number,
): Promise<void> {
  await renumber(transaction, inArray(outboxEvents.id, [...ids]));
  await transaction
    .update(outboxEvents)
    .set({ deadAt: null, attempts: 0, leaseUntil: null, nextAttemptAt: new Date(now) })
    .where(inArray(outboxEvents.id, [...ids]));
}

/** Makes pending jobs due immediately. A try in progress is not disturbed: its lease stays. */
export async function hurryJobs(
  transaction: Db,
  ids: readonly string[],
  now: number,
): Promise<void> {
  await transaction
    .update(outboxEvents)
    .set({ nextAttemptAt: new Date(now) })
    .where(inArray(outboxEvents.id, [...ids]));
}

/** Renumbers dead jobs with an order key after the pending ones, so that a running job stays the first of its key. */
async function renumber(transaction: Db, areMeant: SQL): Promise<void> {
  const meant = sql`from ${outboxEvents} where ${areMeant} and order_key is not null`;
  await lockOrderKeys(transaction, sql`select sink, order_key ${meant}`);
  await transaction.execute(sql`
    with dead as materialized (
      select id, sink, order_key,
        row_number() over (partition by sink, order_key order by created_at, order_number) as place
      ${meant}
    )
    update ${outboxEvents} as job set order_number = dead.place + coalesce((
        select max(pending.order_number) from ${outboxEvents} as pending
        where pending.sink = dead.sink and pending.order_key = dead.order_key
          and pending.delivered_at is null and pending.dead_at is null
      ), 0)
    from dead where job.id = dead.id`);
}

/**
 * Deletes jobs that ended long enough ago, in batches that hold up no other statement. A batch is chosen once: as a
 * subquery of the condition PostgreSQL may choose it again for every row.
 * @param now Unix milliseconds.
 */
export async function pruneEvents(db: Db, now: number): Promise<void> {
  const endsAt = performance.now() + PRUNE_MAX_MS;
  do {
    const deleted = await db.execute(sql`
      with old as materialized (
        select id from ${outboxEvents}
        where created_at < ${moment(now - KEEP_DONE_MS)}
          and (delivered_at < ${moment(now - KEEP_DONE_MS)} or dead_at < ${moment(now - KEEP_DEAD_MS)})
        limit ${BATCH_ROWS}
        for update skip locked
      )
      delete from ${outboxEvents} as done using old where done.id = old.id
      returning done.id`);
    if (deleted.length < BATCH_ROWS) return;
  } while (performance.now() < endsAt);
}

function moment(at: number): SQL {
  return sql`${new Date(at).toISOString()}::timestamptz`;
}
