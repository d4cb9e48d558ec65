import type { Db } from "../db/context.ts";
import { DatabaseError, toDatabaseError } from "../db/database-error.ts";
import { isStoreAway } from "../db/is-store-away.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import { within } from "../lib/time/within.ts";
import { retryPauseMs } from "./backoff.ts";
import { checkpointClaim, claimJobs, confirmClaim, recordOutcome, renewClaims } from "./claims.ts";
import { countOutcome } from "./figures.ts";
import { LookTimer } from "./look-timer.ts";
import {
  ClaimLost,
  describeFailure,
  type Job,
  type JobOutcome,
  STORE_AWAY,
  type Topic,
} from "./topic.ts";

/** With the pause between two looks, the jobs of a dead worker are claimed again well within 30 s. */
const LEASE_MS = 20_000;
/** Also sets how soon work learns that its job was withdrawn: after two seconds of such a lease. */
const RENEWALS_PER_LEASE = 10;
/** A worker that could not renew for this share of its lease gives up before another one may claim the job. */
const UNRENEWED_SHARE = 0.75;
/** Other replicas' jobs, and those of a dead worker, are seen this soon. */
const LOOK_INTERVAL_MS = 1_000;
const CONCURRENCY = 20;
const AWAY_REPORT_MS = 60_000;
/** Each was recorded, so the store answered soon after it: beyond these it is the work that asks too much of the store. */
const AWAY_TRIES_MAX = 10;
/** Some of these jobs go on in other replicas. */
const AWAY_JOBS_MAX = 1_000;
/** A query that takes longer is abandoned; the jobs it claimed can be claimed again when their lease expires. */
const QUERY_TIMEOUT_MS = 20_000;
/** When the server stops, work in progress has this long to finish, and as long again to be handed back. */
const CLOSE_WAIT_MS = 1_000;
const LOST = "the outcome of a job is dropped: it was withdrawn, or another worker has claimed it";

export interface QueueParts {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
}

/** This process's worker for one topic. */
export interface TopicWorker {
  /** Starts a committed job immediately. */
  readonly wake: () => void;
  /** Claims no more, waits for work in progress and hands back jobs that do not end in time. */
  readonly close: () => Promise<void>;
}

/**
 * Starts to work on the jobs of a topic; a job runs on one replica at a time. While the database is unavailable nothing
 * is claimed. Outcomes are recorded when it returns, unless another worker has claimed the job by then.
 */
export function workTopic(parts: QueueParts, topic: Topic): TopicWorker {
  const worker = new Worker(parts, topic);
  worker.wake();
  return { wake: () => worker.wake(), close: () => worker.close() };
}

interface Run {
  readonly job: Job;
  readonly abort: AbortController;
  /** Monotonic clock, read before the query that claimed or renewed. */
  renewedAt: number;
  /** Tries since the last checkpoint. */
  attempts: number;
}

class Worker {
  readonly #parts: QueueParts;
  readonly #topic: Topic;
  readonly #leaseMs: number;
  readonly #looks = new LookTimer(() => this.#look(), LOOK_INTERVAL_MS);
  readonly #runs = new Map<string, Run>();
  readonly #settling = new Set<Promise<void>>();
  /** How often in a row the store was away for a job. */
  readonly #awayTries = new Map<string, number>();
  #renewTimer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  /** The last look ended for lack of capacity, not of jobs. */
  #hasMore = false;
  #isAway = false;
  /** Monotonic clock. */
  #reportsAwayFrom = 0;
  #isClosed = false;

  constructor(parts: QueueParts, topic: Topic) {
    this.#parts = parts;
    this.#topic = topic;
    this.#leaseMs = topic.leaseMs ?? LEASE_MS;
  }

  wake(): void {
    this.#looks.lookIn(0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const stopped = this.#looks.stop();
    const done = async () => {
      await stopped;
      await Promise.all(this.#settling);
    };
    await Promise.race([done(), sleep(CLOSE_WAIT_MS)]);
    for (const { abort } of this.#runs.values()) abort.abort();
    await Promise.race([done(), sleep(CLOSE_WAIT_MS)]);
    clearInterval(this.#renewTimer);
  }

  async #look(): Promise<void> {
    const { db, clock } = this.#parts;
    const { name, concurrency = CONCURRENCY, isPaused } = this.#topic;
    const limit = concurrency - this.#runs.size;
    // Below 0 where the topic's number became smaller meanwhile.
    if (limit <= 0 || isPaused?.()) return;
    const claimedAt = performance.now();
    await this.#query(async () => {
      const except = [...this.#runs.keys()];
      const leaseMs = this.#leaseMs;
      const jobs = await claimJobs(db, name, { limit, now: clock.now(), leaseMs, except });
      this.#hasMore = jobs.length === limit;
      // An answer that arrives after its lease may name a job that was claimed again in the meantime.
      for (const job of jobs) if (!this.#runs.has(job.id)) this.#start(job, claimedAt);
    });
  }

  #start(job: Job, claimedAt: number): void {
    const abort = new AbortController();
    const run: Run = { job, abort, renewedAt: claimedAt, attempts: job.attempts };
    this.#runs.set(job.id, run);
    this.#renewTimer ??= setInterval(
      () => this.#renew(),
      this.#leaseMs / RENEWALS_PER_LEASE,
    ).unref();
    const settled = this.#settle(run).then((pauseMs) => {
      if (this.#runs.get(job.id) === run) this.#runs.delete(job.id);
      this.#settling.delete(settled);
      if (this.#runs.size === 0) {
        clearInterval(this.#renewTimer);
        this.#renewTimer = undefined;
      }
      this.#looks.lookIn(pauseMs);
    });
    this.#settling.add(settled);
  }

  /** Works on a job and records the outcome. Resolves with the pause after which a look is useful. */
  async #settle(run: Run): Promise<number> {
    const { db, clock, log } = this.#parts;
    const { name } = this.#topic;
    const outcome = await this.#attempt(run);
    if (outcome !== STORE_AWAY) this.#awayTries.delete(run.job.id);
    const pauseMs = this.#pauseOf(run, outcome);
    const now = clock.now();
    const nextAttemptAt = pauseMs === undefined ? undefined : now + pauseMs;
    const record = () => recordOutcome(db, run.job, { outcome, nextAttemptAt, now });
    let isRecorded = await this.#query(record);
    while (isRecorded === undefined && !this.#isClosed) {
      await sleep(LOOK_INTERVAL_MS);
      isRecorded = await this.#query(record);
    }
    if (isRecorded) this.#report(run, outcome, pauseMs === undefined);
    else if (isRecorded === false) log.warn({ topic: name, job: run.job.id }, LOST);
    const isAway = outcome.kind === "released" && pauseMs !== undefined;
    if (!isAway && (this.#hasMore || run.job.isOrdered)) return 0;
    return Math.min(pauseMs ?? LOOK_INTERVAL_MS, LOOK_INTERVAL_MS);
  }

  /** The pause before the next try; undefined when there is none, or when it may be at once. */
  #pauseOf({ attempts }: Run, outcome: JobOutcome): number | undefined {
    if (outcome.kind === "released") return outcome.pauseMs;
    if (outcome.kind !== "failed") return undefined;
    const { pausesMs, scale = 1 } = this.#topic;
    const { retryAfterSeconds } = outcome;
    return retryPauseMs({ pausesMs, attempts, scale, retryAfterSeconds, random: Math.random() });
  }

  /** Makes one try. Never rejects. */
  async #attempt(run: Run): Promise<JobOutcome> {
    const { job, abort } = run;
    const { log } = this.#parts;
    const { name, work, pausesMs } = this.#topic;
    if (job.attempts > pausesMs.length + 1) {
      return { kind: "refused", error: "in its last try the worker was lost" };
    }
    // A process that was suspended may have lost the lease.
    const isLate = performance.now() - run.renewedAt > this.#leaseMs / 2;
    if (isLate || this.#isClosed) return { kind: "released" };
    const checkpoint = async (transaction: Db) => {
      await checkpointClaim(transaction, job, this.#leaseMs);
      run.attempts = 1;
    };
    const confirm = (transaction: Db) => confirmClaim(transaction, job);
    try {
      const outcome = await work(job, { signal: abort.signal, checkpoint, confirm });
      return outcome.kind === "failed" && abort.signal.aborted ? { kind: "released" } : outcome;
    } catch (thrown) {
      if (abort.signal.aborted || thrown instanceof ClaimLost) return { kind: "released" };
      if (isStoreAway(thrown) && this.#isFreeTry(job.id)) {
        this.#reportAway(thrown);
        return STORE_AWAY;
      }
      log.warn({ err: thrown, topic: name, job: job.id }, "the work on a job threw an error");
      return { kind: "failed", error: describeFailure(thrown) };
    }
  }

  #isFreeTry(id: string): boolean {
    const tries = (this.#awayTries.get(id) ?? 0) + 1;
    this.#awayTries.delete(id);
    if (tries > AWAY_TRIES_MAX) return false;
    this.#awayTries.set(id, tries);
    const [oldest = id] = this.#awayTries.keys();
    if (this.#awayTries.size > AWAY_JOBS_MAX) this.#awayTries.delete(oldest);
    return true;
  }

  /** Aborts work whose lease may have expired; renews the other leases, and aborts work that has lost its claim. */
  #renew(): void {
    const now = performance.now();
    for (const run of this.#runs.values()) {
      if (now - run.renewedAt > this.#leaseMs * UNRENEWED_SHARE) this.#lose(run);
    }
    if (this.#renewing !== undefined) return;
    const runs = [...this.#runs.values()];
    const jobs = runs.map(({ job }) => job);
    this.#renewing = this.#query(async () => {
      const held = await renewClaims(this.#parts.db, jobs, this.#leaseMs);
      for (const run of runs) {
        if (held.has(run.job.id)) run.renewedAt = now;
        // A run whose outcome was just recorded holds no lease either; it leaves the runs in a moment.
        else this.#lose(run);
      }
    }, this.#leaseMs / 4).then(() => {
      this.#renewing = undefined;
    });
  }

  #lose({ abort, job }: Run): void {
    abort.abort(new ClaimLost(`The claim of the job ${job.id} is lost.`));
  }

  #report({ job, attempts }: Run, outcome: JobOutcome, isLast: boolean): void {
    const { log } = this.#parts;
    const { name, counts } = this.#topic;
    if (counts !== undefined) countOutcome(counts, outcome, isLast);
    if (outcome.kind !== "failed" && outcome.kind !== "refused") return;
    const { id, kind } = job;
    const facts = { topic: name, job: id, kind, attempts, reason: outcome.error };
    if (isLast) log.error(facts, "a job failed and is given up");
    else if (attempts === 1) log.warn(facts, "a job failed and will be retried");
  }

  /** Once a minute: all jobs of the topic may be handed back every second. */
  #reportAway(thrown: unknown): void {
    const now = performance.now();
    if (now < this.#reportsAwayFrom) return;
    this.#reportsAwayFrom = now + AWAY_REPORT_MS;
    const cause = describeFailure(thrown);
    this.#parts.log.warn(
      { topic: this.#topic.name, cause },
      "jobs are handed back: the store is away",
    );
  }

  /** Resolves with undefined when the database is unavailable, which is logged once. Never rejects. */
  async #query<Result>(
    work: () => Promise<Result>,
    timeoutMs = QUERY_TIMEOUT_MS,
  ): Promise<Result | undefined> {
    const { log } = this.#parts;
    const topic = this.#topic.name;
    try {
      const tooLate = () => new DatabaseError("TIMEOUT", "The query timed out.");
      const result = await within(work(), timeoutMs, tooLate);
      if (this.#isAway) log.info({ topic }, "the database is back, jobs are started again");
      this.#isAway = false;
      return result;
    } catch (thrown) {
      const cause = toDatabaseError(thrown).message;
      if (!this.#isAway) log.warn({ topic, cause }, "jobs wait for the database");
      this.#isAway = true;
      return undefined;
    }
  }
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
