import { type SQL, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { ADVISORY_LOCK } from "../db/locks/advisory-locks.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { randomBase62 } from "../lib/id.ts";
import type { JsonObject } from "../lib/json/json.ts";

/**
 * Few enough that a redrive of many keys fits into the server's lock table. Keys that share a bucket only wait for each
 * other.
 */
const LOCK_BUCKETS = 1_024;

export interface NewJob {
  /** `evt_` and 22 base62 characters, for a cause that has to know the id; made up unless given. */
  readonly id?: string | undefined;
  /** The topic's name. */
  readonly topic: string;
  readonly kind: string;
  readonly body: JsonObject;
}

export interface NewOrderedJob extends NewJob {
  /** Jobs of this topic with the same key run one at a time, in the order in which their transactions commit. */
  readonly orderKey: string;
  /**
   * Maximum of waiting jobs per key; the first job counts as running, even while it waits for a worker. Unset:
   * unlimited.
   */
  readonly cap?: number | undefined;
}

/** `full`: the maximum of jobs waits for this key, and nothing was stored. */
export type Enqueued =
  | { readonly state: "stored"; readonly id: string }
  | { readonly state: "full" };

/**
 * Stores one job, or up to a few thousand in one statement, in the transaction of their cause, so that both commit or
 * neither does. The caller wakes the topic's worker after the commit.
 * @param now Unix milliseconds.
 */
export async function enqueue(
  transaction: Db,
  jobs: NewJob | readonly NewJob[],
  now: number,
): Promise<void> {
  const rows = [jobs].flat().map((job) => rowOf(job, now));
  if (rows.length > 0) await transaction.insert(outboxEvents).values(rows);
}

/**
 * Stores a job that waits for the earlier ones of its key. Until the transaction ends, other transactions that enqueue
 * for this key wait, so numbers follow the order of the commits. A transaction that enqueues for several keys locks all
 * of them first with `lockOrderKeys`, or PostgreSQL may abort it as a deadlock.
 * @param now Unix milliseconds.
 */
export async function enqueueInOrder(
  transaction: Db,
  { orderKey, cap, ...job }: NewOrderedJob,
  now: number,
): Promise<Enqueued> {
  await lockOrderKeys(
    transaction,
    sql`select ${job.topic}::text as sink, ${orderKey}::text as order_key`,
  );
  // A separate statement, because its snapshot must be taken after the lock.
  const pending = sql`from ${outboxEvents} where sink = ${job.topic} and order_key = ${orderKey}
    and delivered_at is null and dead_at is null`;
  const counted =
    cap === undefined
      ? sql`0`
      : sql`(select count(*)::int from (select 1 ${pending} limit ${cap + 1}) as counted)`;
  const [key] = await transaction.execute<{ last: string | null; count: number }>(
    sql`select (select max(order_number) ${pending}) as last, ${counted} as count`,
  );
  if (cap !== undefined && key !== undefined && key.count > cap) return { state: "full" };
  const row = { ...rowOf(job, now), orderKey, orderNumber: Number(key?.last ?? 0) + 1 };
  await transaction.insert(outboxEvents).values(row);
  return { state: "stored", id: row.id };
}

/**
 * Keeps other transactions from enqueuing for these keys until this one ends.
 * @param keys a query with the columns `sink` and `order_key`.
 */
export async function lockOrderKeys(transaction: Db, keys: SQL): Promise<void> {
  // In the order of the buckets, so that two transactions do not deadlock.
  await transaction.execute(sql`
    select pg_advisory_xact_lock(${ADVISORY_LOCK.orderKey}, bucket) from (
      select distinct hashtext(sink || ' ' || order_key) & ${LOCK_BUCKETS - 1} as bucket
      from (${keys}) as keys order by 1
    ) as buckets`);
}

export function newJobId(): string {
  return `evt_${randomBase62(22)}`;
}

function rowOf({ id = newJobId(), topic, kind, body }: NewJob, now: number) {
  const at = new Date(now);
  return { id, sink: topic, kind, body: { ...body }, createdAt: at, nextAttemptAt: at };
}
