import type { Db } from "../db/context.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { deliverEvents, type EventDelivery } from "./deliver-events.ts";
import type { DeliveryFigures } from "./delivery-figures.ts";
import type { InternalEventKind } from "./internal-event.ts";
import { type Subscriber, type Subscription, toSubscriber } from "./subscription.ts";
import { tellSubscribers } from "./tell-subscribers.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** From one failed try to the next: nine tries in less than four hours. */
const PAUSES_MS = [
  SECOND_MS,
  5 * SECOND_MS,
  30 * SECOND_MS,
  2 * MINUTE_MS,
  10 * MINUTE_MS,
  30 * MINUTE_MS,
  HOUR_MS,
  2 * HOUR_MS,
] as const;

export interface InternalEventsOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  /** OUTBOX_BACKOFF_SCALE. */
  readonly scale: number;
  /** OUTBOX_TRY_TIMEOUT_MS. */
  readonly tryTimeoutMs: number;
  /** Where tries are counted. */
  readonly deliveries?: DeliveryFigures | undefined;
}

/** What parts of the gateway tell each other. */
export interface InternalEvents extends EventDelivery {
  /** Adds a subscriber, before `start`: what nobody wants then counts as delivered. */
  readonly subscribe: <Kind extends InternalEventKind>(subscription: Subscription<Kind>) => void;
  /** Delivers from now on. */
  readonly start: () => void;
}

/** The subscribers, and the delivery of stored events to them: at least once, on whichever replica comes first. */
export function createInternalEvents(options: InternalEventsOptions): InternalEvents {
  const { log, tryTimeoutMs: timeoutMs } = options;
  const subscribers: Subscriber[] = [];
  let delivery: EventDelivery | undefined;
  return {
    subscribe: (subscription) => void subscribers.push(toSubscriber(subscription)),
    start() {
      delivery = deliverEvents({
        ...options,
        sink: "internal",
        pausesMs: PAUSES_MS,
        deliver: (event, stopping) =>
          tellSubscribers(event, { subscribers, log, timeoutMs, stopping }),
      });
    },
    wake: () => delivery?.wake(),
    close: async () => delivery?.close(),
  };
}
