import { ServiceError } from "../core/service-error.ts";
import type { Db } from "../db/context.ts";
import { isFromDatabase, toDatabaseError } from "../db/database-error.ts";
import type { JsonObject } from "../lib/json.ts";

/**
 * The topics whose jobs are events: alerts for the operator's address, and what parts of the gateway act on. They are
 * what `/api/admin/events` lists (as `sink`) and what the metrics and the alert of the outbox count.
 */
export const EVENT_TOPICS = ["alert_webhook", "internal"] as const;

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
  /** It has an order key: when it ends, the next one of the key can be claimed. */
  readonly isOrdered: boolean;
}

/** How a try ended. Errors are short, without an address or anything that a receiver wrote. */
export type JobOutcome =
  | { readonly kind: "done" }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** What the receiver asked to wait. */
      readonly retryAfterSeconds?: number | undefined;
    }
  /** Permanently: it is not retried. */
  | { readonly kind: "refused"; readonly error: string }
  /** Handed back; it does not count as a try. */
  | { readonly kind: "released" };

/** How tries are counted: `failed` is retried, `given_up` is not. */
export const TRY_RESULTS = ["delivered", "failed", "given_up"] as const;

/** The tries of this process at the jobs of one topic. */
export type ResultCounts = Record<(typeof TRY_RESULTS)[number], number>;

export interface WorkContext {
  /** Aborts when the server stops, and when the claim is lost or the job withdrawn. Work ends soon after. */
  readonly signal: AbortSignal;
  /**
   * To be called last in a transaction that stores progress: it commits only while the claim is held, and the tries are
   * counted from here again. Rejects with ClaimLost.
   */
  readonly checkpoint: (transaction: Db) => Promise<void>;
}

/** One kind of work of the queue, with its own worker in each replica. */
export interface Topic {
  /** Unique; jobs are stored under it. */
  readonly name: string;
  /**
   * One try. It may take longer than a lease, and sets its own time limit. Jobs are done at least once: work that was
   * cut off is done again. What it throws counts as failed.
   */
  readonly work: (job: Job, context: WorkContext) => Promise<JobOutcome>;
  /** From one failed try to the next; after the last pause and one more try the job is given up. */
  readonly pausesMs: readonly number[];
  /** OUTBOX_BACKOFF_SCALE; 1 unless given. */
  readonly scale?: number;
  /** Jobs at a time in one process; 20 unless given. */
  readonly concurrency?: number;
  /** After so long without a renewal a worker counts as dead; 20 s unless given, and under 29 s. */
  readonly leaseMs?: number;
  /** While true no job is started; those in progress go on. */
  readonly isPaused?: () => boolean;
  /** Where tries are counted. */
  readonly counts?: ResultCounts | undefined;
}

/** Another worker has claimed the job meanwhile, or it was withdrawn: nothing of this one's work may be stored. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost";
}

/** Of what work has thrown: only texts that are made to be shown; any other may hold what a job was about. */
export function describeFailure(thrown: unknown): string {
  if (thrown instanceof ServiceError) return thrown.message;
  if (isFromDatabase(thrown)) return toDatabaseError(thrown).message;
  return thrown instanceof Error ? thrown.name : "it failed";
}
