import { and, eq, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import type { Db } from "../db/context.ts";
import { outboxEvents } from "../db/tables/outbox.ts";
import { ClaimLost, type Job, type JobOutcome } from "./topic.ts";

export interface ClaimOptions {
  readonly limit: number;
  /** Unix milliseconds. */
  readonly now: number;
  readonly leaseMs: number;
  /** Ids of jobs that this process still works on: it does not claim them again, whatever their lease. */
  readonly except?: readonly string[];
}

/**
 * Claims up to `limit` due jobs of a topic, the longest due first. Due times use the process's clock; leases use the
 * database's time, which all replicas share.
 *
 * Of the jobs with one order key only the first pending one can be claimed, so that no two run at a time. A job gets
 * its number after everything before it was committed, and keeps it until it ends.
 */
export async function claimJobs(
  db: Db,
  topic: string,
  { limit, now, leaseMs, except = [] }: ClaimOptions,
): Promise<readonly Job[]> {
  const others =
    except.length === 0 ? sql`true` : sql`job.id not in (${list(except.map((id) => sql`${id}`))})`;
  const rows = await db.execute<Omit<Job, "token"> & { readonly claim: string }>(sql`
    with due as materialized (
      select job.id from ${outboxEvents} as job
      where job.sink = ${topic} and job.delivered_at is null and job.dead_at is null
        and job.next_attempt_at <= ${new Date(now).toISOString()}::timestamptz
        and (job.lease_until is null or job.lease_until < now()) and ${others}
        and (job.order_key is null or not exists (
          select 1 from ${outboxEvents} as earlier
          where earlier.sink = job.sink and earlier.order_key = job.order_key
            and earlier.order_number < job.order_number
            and earlier.delivered_at is null and earlier.dead_at is null
        ))
      order by job.next_attempt_at
      limit ${limit}
      for update of job skip locked
    )
    update ${outboxEvents} as job
    set lease_until = ${leaseEnd(leaseMs)}, attempts = job.attempts + 1, claim = job.claim + 1
    from due where job.id = due.id
    returning job.id, job.kind, job.body, job.attempts, job.claim, job.order_key is not null as "isOrdered"`);
  return rows.map(({ claim, ...job }) => ({ ...job, token: Number(claim) }));
}

/**
 * Renews the leases of these jobs that are still held.
 * @returns the ids of the renewed jobs.
 */
export async function renewClaims(
  db: Db,
  jobs: readonly Pick<Job, "id" | "token">[],
  leaseMs: number,
): Promise<ReadonlySet<string>> {
  const pairs = list(jobs.map(({ id, token }) => sql`(${id}::text, ${token}::bigint)`));
  // A row that a checkpoint has locked is renewed by the checkpoint; this statement does not wait for it.
  const rows = await db.execute<{ id: string }>(sql`
    with held as materialized (
      select id from ${outboxEvents} where (id, claim) in (${pairs}) and ${IS_CLAIMED}
    ), free as materialized (
      select id from ${outboxEvents} where id in (select id from held) and ${IS_CLAIMED}
      for update skip locked
    ), renewed as (
      update ${outboxEvents} as job set lease_until = ${leaseEnd(leaseMs)}
      from free where job.id = free.id and (job.id, job.claim) in (${pairs})
    )
    select id from held`);
  return new Set(rows.map(({ id }) => id));
}

/** Renews the lease and restarts the count of tries, in the caller's transaction. Rejects with ClaimLost. */
export async function checkpointClaim(
  transaction: Db,
  job: Pick<Job, "id" | "token">,
  leaseMs: number,
): Promise<void> {
  const held = await transaction
    .update(outboxEvents)
    .set({ attempts: 1, leaseUntil: leaseEnd(leaseMs) })
    .where(isHeld(job))
    .returning({ id: outboxEvents.id });
  if (held.length === 0) throw new ClaimLost(`The claim of the job ${job.id} is lost.`);
}

/** Keeps the claim from being taken over until the caller's transaction ends. Rejects with ClaimLost. */
export async function confirmClaim(transaction: Db, job: Pick<Job, "id" | "token">): Promise<void> {
  const held = await transaction
    .select({ id: outboxEvents.id })
    .from(outboxEvents)
    .where(isHeld(job))
    .for("no key update");
  if (held.length === 0) throw new ClaimLost(`The claim of the job ${job.id} is lost.`);
}

export interface OutcomeRecord {
  readonly outcome: JobOutcome;
  /** Unix milliseconds of the next try; undefined after the last one, and where it may be at once. */
  readonly nextAttemptAt: number | undefined;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Records the outcome of a try and releases the lease. Resolves with false, and records nothing, when the claim is
 * lost; with true also when this record was stored before, by a call whose answer was lost.
 */
export async function recordOutcome(
  db: Db,
  job: Pick<Job, "id" | "token">,
  record: OutcomeRecord,
): Promise<boolean> {
  const { outcome, nextAttemptAt, now } = record;
  const change = () => {
    if (outcome.kind === "done") return { deliveredAt: new Date(now), lastError: null };
    const later = nextAttemptAt === undefined ? {} : { nextAttemptAt: new Date(nextAttemptAt) };
    if (outcome.kind === "released")
      return { attempts: sql`${outboxEvents.attempts} - 1`, ...later };
    if (nextAttemptAt === undefined) return { deadAt: new Date(now), lastError: outcome.error };
    return { ...later, lastError: outcome.error };
  };
  const recorded = await db
    .update(outboxEvents)
    .set({ leaseUntil: null, ...change() })
    .where(isHeld(job))
    .returning({ id: outboxEvents.id });
  return recorded.length > 0 || (await isRecorded(db, job, record));
}

/** The times of a record tell it from what others have stored. One that was released has none, and nobody asks. */
async function isRecorded(
  db: Db,
  { id, token }: Pick<Job, "id" | "token">,
  { outcome, nextAttemptAt, now }: OutcomeRecord,
): Promise<boolean> {
  if (outcome.kind === "released") return false;
  const { claim, leaseUntil, deliveredAt, deadAt } = outboxEvents;
  const isItsOwn = () => {
    if (outcome.kind === "done") return eq(deliveredAt, new Date(now));
    if (nextAttemptAt === undefined) return eq(deadAt, new Date(now));
    return eq(outboxEvents.nextAttemptAt, new Date(nextAttemptAt));
  };
  const found = await db
    .select({ id: outboxEvents.id })
    .from(outboxEvents)
    .where(and(eq(outboxEvents.id, id), eq(claim, token), isNull(leaseUntil), isItsOwn()));
  return found.length > 0;
}

/**
 * Everything that ends a claim clears the lease, and a later claim raises the token. An expired lease counts as held
 * until then.
 */
const IS_CLAIMED = sql`lease_until is not null and delivered_at is null and dead_at is null`;

function isHeld({ id, token }: Pick<Job, "id" | "token">): SQL | undefined {
  const { claim, leaseUntil, deliveredAt, deadAt } = outboxEvents;
  return and(
    eq(outboxEvents.id, id),
    eq(claim, token),
    isNotNull(leaseUntil),
    isNull(deliveredAt),
    isNull(deadAt),
  );
}

function leaseEnd(leaseMs: number): SQL {
  return sql`now() + make_interval(secs => ${leaseMs / 1_000})`;
}

function list(items: readonly SQL[]): SQL {
  return sql.join([...items], sql`, `);
}
