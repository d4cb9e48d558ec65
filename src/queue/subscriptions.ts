import { isStoreAway } from "../db/is-store-away.ts";
import { limitSignal } from "../lib/http/limit-signal.ts";
import type { Log } from "../lib/log.ts";
import { pathGlob } from "./path-glob.ts";
import { describeFailure, type Job, type JobOutcome } from "./topic.ts";

/** The facts about a file of a watched folder. */
interface WatchedFileFacts {
  /** The folder that is watched, absolute. */
  readonly folder: string;
  /** Relative to the folder, with slashes between its levels, as the file system spells it. */
  readonly path: string;
  /** The last level of the path. */
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** RFC 3339 in UTC, to the millisecond: the file's modification time. */
  readonly modified_at: string;
  readonly source: "watched_folder";
}

/** What became of files that were added to a vector store. */
interface IngestedFacts {
  readonly vector_store_id: string;
  readonly vector_store_name: string;
  /** Null for one file that was added by itself. */
  readonly batch_id: string | null;
  /** The file that was added by itself; null for a batch. Absent in events of earlier releases. */
  readonly file_id?: string | null;
  /** Numbers of files. */
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
}

/** The facts about a file that was uploaded to the gateway. */
export interface UploadedFileFacts {
  readonly file_id: string;
  /** Its name too: an upload has no folder. */
  readonly path: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Of its content, in lower-case hexadecimal digits. */
  readonly sha256: string;
  /** The user to whom it belongs; null when that user was deleted. */
  readonly owner_id: string | null;
  readonly source: "upload";
}

/** The facts about a run of a workflow that has ended. */
interface EndedRunFacts {
  readonly workflow_id: string;
  readonly workflow_name: string;
  readonly run_id: string;
  /** Of the workflow; null when that user was deleted. */
  readonly owner_id: string | null;
  /** What started the run. */
  readonly trigger: string;
  readonly rows_received: number;
  /** The workflows whose runs led to this one, and its own as the last. */
  readonly chain: readonly string[];
  /** The step that failed, and why; null when the run completed. */
  readonly failed_step: string | null;
  readonly error: string | null;
}

/** The facts about a change of a dataset's rows. */
interface DatasetFacts {
  readonly dataset: string;
  readonly dataset_name: string;
  readonly change: "append" | "replace" | "upsert" | "delete";
  /** Rows that were written. */
  readonly rows: number;
  /** The dataset's version after the change. */
  readonly version: number;
  /** The run that wrote them; null when a person or program did. */
  readonly run_id: string | null;
  /** Its chain, its own workflow last. */
  readonly chain: readonly string[];
}

/** The facts about a file; `source` is how the gateway learned of it. */
export type FileFacts = WatchedFileFacts | UploadedFileFacts;

/**
 * Every kind of event between parts of the gateway, with its content. Events are delivered at least once, and not
 * always in their original order.
 *
 * - `file.uploaded`: a complete file exists. `change` reports whether it was known before.
 * - `file.deleted`: a file is gone; its size and time are the last known ones. A renamed file is deleted under its old
 * name and uploaded under the new one.
 * - `knowledge.ingested`: all files of a batch have ended, or one file that was added by itself.
 * - `workflow.completed`, `workflow.failed`: a run has ended; a stopped one fires none.
 * - `dataset.updated`: a change of a dataset's rows was committed.
 */
export type InternalEvent =
  | {
      readonly kind: "file.uploaded";
      readonly body: FileFacts & { readonly change: "created" | "modified" };
    }
  | { readonly kind: "file.deleted"; readonly body: FileFacts }
  | { readonly kind: "knowledge.ingested"; readonly body: IngestedFacts }
  | { readonly kind: "workflow.completed"; readonly body: EndedRunFacts }
  | { readonly kind: "workflow.failed"; readonly body: EndedRunFacts }
  | { readonly kind: "dataset.updated"; readonly body: DatasetFacts };

export type InternalEventKind = InternalEvent["kind"];

/** An event as a subscriber receives it. */
export type DeliveredEvent<Kind extends InternalEventKind = InternalEventKind> = Extract<
  InternalEvent,
  { readonly kind: Kind }
> & {
  /** The same at every try, so that a subscriber recognises an event that it has already received. */
  readonly id: string;
};

export interface Subscription<Kind extends InternalEventKind = InternalEventKind> {
  /** Shown when a delivery fails. */
  readonly name: string;
  readonly kinds: readonly Kind[];
  /**
   * Restricts the subscription to files whose path, or name where they were uploaded, matches this filter, see pathGlob;
   * unset: all files. Events that are not about a file have no path, and are delivered.
   */
  readonly path?: string | undefined;
  /**
   * Handles an event quickly: longer work is stored here and done elsewhere. When it rejects, or has not ended when
   * `signal` aborts, the event is retried later, with all its subscribers.
   */
  readonly handle: (event: DeliveredEvent<Kind>, signal: AbortSignal) => Promise<void>;
}

/** A subscription to any kinds. */
export interface Subscriber {
  readonly name: string;
  readonly wants: (event: DeliveredEvent) => boolean;
  readonly handle: (event: DeliveredEvent, signal: AbortSignal) => Promise<void>;
}

/** Throws a RangeError when the path filter is too long. */
export function toSubscriber<Kind extends InternalEventKind>(
  subscription: Subscription<Kind>,
): Subscriber {
  const { name, kinds, path = "", handle } = subscription;
  const isPathMeant = pathGlob(path);
  const isMeant = (event: DeliveredEvent): event is DeliveredEvent<Kind> =>
    kinds.some((kind) => kind === event.kind);
  return {
    name,
    wants: (event) => isMeant(event) && (!("path" in event.body) || isPathMeant(event.body.path)),
    async handle(event, signal) {
      if (isMeant(event)) await handle(event, signal);
    },
  };
}

export interface NotifyOptions {
  readonly subscribers: readonly Subscriber[];
  readonly log: Log;
  /** Longest time for a subscriber. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Delivers an event to all subscribers who want it, in parallel. It is done when each of them has handled it, or when
 * there is no such subscriber. Rejects when nothing but the store was away for some of them.
 */
export async function notifySubscribers(
  { id, kind, body, attempts }: Job,
  { subscribers, log, timeoutMs, signal: stopping }: NotifyOptions,
): Promise<JobOutcome> {
  // The event as it was stored; no subscriber here wants a kind that only a later release knows.
  const event = { id, kind, body } as unknown as DeliveredEvent;
  const wanting = subscribers.filter(({ wants }) => wants(event));
  if (wanting.length === 0) return { kind: "done" };
  const signal = limitSignal(stopping, timeoutMs);
  let away: unknown;
  const notify = async ({ name, handle }: Subscriber) => {
    try {
      await Promise.race([handle(event, signal), aborted(signal)]);
      return undefined;
    } catch (thrown) {
      if (isStoreAway(thrown)) {
        away = thrown;
        return undefined;
      }
      // Further tries would log the same.
      if (attempts === 1)
        log.warn({ err: thrown, event: id, subscriber: name }, "a subscriber failed");
      return `${name}: ${signal.aborted ? `not done within ${timeoutMs / 1_000} s` : describeFailure(thrown)}`;
    }
  };
  const failures = await Promise.all(wanting.map(notify));
  const error = failures.find((failure) => failure !== undefined);
  if (error !== undefined) return { kind: "failed", error };
  // It is tried again with all its subscribers, and what does not reach the store is no try.
  if (away !== undefined) throw away;
  return { kind: "done" };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
