import type { Db } from "../db/context.ts";
import { INTERNAL_PAUSES_MS } from "./backoff.ts";
import { enqueue } from "./enqueue.ts";
import type { DeliveryFigures } from "./figures.ts";
import {
  type InternalEvent,
  type InternalEventKind,
  notifySubscribers,
  type Subscriber,
  type Subscription,
  toSubscriber,
} from "./subscriptions.ts";
import { type QueueParts, type TopicWorker, workTopic } from "./work-topic.ts";

/**
 * Stores events in the transaction of their cause, a few thousand at most.
 *
 * @param now Unix milliseconds.
 */
export function fireEvents(
  transaction: Db,
  events: readonly InternalEvent[],
  now: number,
): Promise<void> {
  const jobs = events.map(({ kind, body }) => ({ topic: "internal", kind, body: { ...body } }));
  return enqueue(transaction, jobs, now);
}

export interface InternalEventsOptions extends QueueParts {
  /** OUTBOX_BACKOFF_SCALE. */
  readonly scale: number;
  /** OUTBOX_TRY_TIMEOUT_MS. */
  readonly tryTimeoutMs: number;
  /** Counters of the tries. */
  readonly deliveries?: DeliveryFigures | undefined;
}

/** Events between parts of the gateway. */
export interface InternalEvents extends TopicWorker {
  /** Adds a subscriber, before `start`: an event that no subscriber wants counts as delivered. */
  readonly subscribe: <Kind extends InternalEventKind>(subscription: Subscription<Kind>) => void;
  /** Starts the delivery. */
  readonly start: () => void;
}

/**
 * Creates the registry of subscribers, and the delivery of stored events to them: at least once, on any one replica.
 */
export function createInternalEvents(options: InternalEventsOptions): InternalEvents {
  const { log, scale, tryTimeoutMs: timeoutMs, deliveries } = options;
  const subscribers: Subscriber[] = [];
  let worker: TopicWorker | undefined;
  return {
    subscribe: (subscription) => void subscribers.push(toSubscriber(subscription)),
    start() {
      worker = workTopic(options, {
        name: "internal",
        pausesMs: INTERNAL_PAUSES_MS,
        scale,
        counts: deliveries?.internal,
        work: (job, { signal }) => notifySubscribers(job, { subscribers, log, timeoutMs, signal }),
      });
    },
    wake: () => worker?.wake(),
    close: async () => worker?.close(),
  };
}
