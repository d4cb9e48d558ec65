import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import { isFromDatabase, toDatabaseError } from "../db/database-error.ts";
import type { JsonObject } from "../lib/json/json.ts";

/**
 * The topics whose jobs are events: alerts for the operator's address, events that parts of the gateway act on, and
 * messages of workflows. `/api/admin/events` lists them (as `sink`); the metrics and the alert of the outbox count them.
 */
export const EVENT_TOPICS = ["alert_webhook", "internal", "workflow_notify"] as const;

export type EventTopic = (typeof EVENT_TOPICS)[number];

/** A job that this process has claimed. */
export interface Job {
  readonly id: string;
  readonly kind: string;
  readonly body: JsonObject;
  /** Tries so far, including this one. */
  readonly attempts: number;
  /** The fencing token: greater than that of every earlier claim of the job. */
  readonly token: number;
  /** The job has an order key: when it ends, the next one of the key can be claimed. */
  readonly isOrdered: boolean;
}

/** The outcome of a try. Errors are short, without an address or any text from a receiver. */
export type JobOutcome =
  | { readonly kind: "done" }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** The wait that the receiver asked for. */
      readonly retryAfterSeconds?: number | undefined;
    }
  /** Permanent: the job is not retried. */
  | { readonly kind: "refused"; readonly error: string }
  /** Handed back; it does not count as a try. With a pause, no replica takes it up before, nor this one any other. */
  | { readonly kind: "released"; readonly pauseMs?: number };

/** The outcome where the gateway's own store does not answer: nothing was tried, and a look at once would not help. */
export const STORE_AWAY: JobOutcome = { kind: "released", pauseMs: 1_000 };

/** How tries are counted: `failed` is retried, `given_up` is not. */
export const TRY_RESULTS = ["delivered", "failed", "given_up"] as const;

/** The tries of this process at the jobs of one topic. */
export type ResultCounts = Record<(typeof TRY_RESULTS)[number], number>;

export interface WorkContext {
  /** Aborts when the server stops, and when the claim is lost or the job withdrawn. The work must end soon after. */
  readonly signal: AbortSignal;
  /**
   * To be called last in a transaction that stores progress: it commits only while the claim is held, and restarts the
   * count of tries. Rejects with ClaimLost.
   */
  readonly checkpoint: (transaction: Db) => Promise<void>;
  /** For a transaction that stores no progress: it commits only while the claim is held. Rejects with ClaimLost. */
  readonly confirm: (transaction: Db) => Promise<void>;
}

/** One kind of work of the queue, with its own worker in each replica. */
export interface Topic {
  /** Unique; jobs are stored under it. */
  readonly name: string;
  /**
   * Makes one try. It may take longer than a lease, and sets its own timeout. Jobs run at least once: interrupted work
   * is repeated. An exception counts as failed, unless it says that the store is away.
   */
  readonly work: (job: Job, context: WorkContext) => Promise<JobOutcome>;
  /** Pauses between failed tries; after the last pause and one more try the job is given up. */
  readonly pausesMs: readonly number[];
  /** OUTBOX_BACKOFF_SCALE; default 1. */
  readonly scale?: number;
  /** Concurrent jobs in one process; default 20. */
  readonly concurrency?: number;
  /** Without a renewal for this long a worker counts as dead; default 20 s, and must be under 29 s. */
  readonly leaseMs?: number;
  /** While true no job is started; those in progress continue. */
  readonly isPaused?: () => boolean;
  /** Counters of the tries. */
  readonly counts?: ResultCounts | undefined;
}

/** Another worker has claimed the job in the meantime, or it was withdrawn: no result of this worker may be stored. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost";
}

/** Describes an exception with a text that is made to be shown; any other message may contain the job's data. */
export function describeFailure(thrown: unknown): string {
  if (thrown instanceof ServiceError) return thrown.message;
  if (isFromDatabase(thrown)) return toDatabaseError(thrown).message;
  return thrown instanceof Error ? thrown.name : "it failed";
}
