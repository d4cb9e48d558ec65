import type { Db } from "../db/context.ts";
import { DatabaseError, toDatabaseError } from "../db/database-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { within } from "../lib/within.ts";
import { type ClaimedEvent, claimEvents } from "./claim-events.ts";
import { type DeliveryFigures, resultOf } from "./delivery-figures.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";
import type { Sink } from "./enqueue-event.ts";
import { recordDelivery } from "./record-delivery.ts";
import { retryPauseMs } from "./retry-pause.ts";

/** A lease outlasts a try by as much again, so that nobody else tries meanwhile. */
const TRIES_PER_LEASE = 2;
/** Other replicas' events, and those of a replica that is gone, are seen this soon. */
const LOOK_INTERVAL_MS = 1_000;
const IN_FLIGHT_MAX = 20;
/** A query that hangs longer is given up; what it claims comes back when its lease runs out. */
const QUERY_TIMEOUT_MS = 20_000;
/** What is under way when the server stops has this long to end well, and as long again to be given back. */
const LAST_WORDS_MS = 1_000;

export interface DeliverEventsOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly log: Log;
  readonly sink: Sink;
  /** One try. Never rejects; ends when `stopping` is aborted. */
  readonly deliver: (event: ClaimedEvent, stopping: AbortSignal) => Promise<DeliveryOutcome>;
  /** Longest time of one try. */
  readonly tryTimeoutMs: number;
  /** From one failed try to the next; after the last of them the event is given up. */
  readonly pausesMs: readonly number[];
  /** OUTBOX_BACKOFF_SCALE. */
  readonly scale: number;
  /** Where tries are counted. */
  readonly deliveries?: DeliveryFigures | undefined;
}

/** The delivery of one sink's events by this process. */
export interface EventDelivery {
  /** An event was committed: it is tried at once. */
  readonly wake: () => void;
  /** Claims no more, ends what is under way and gives it back. */
  readonly close: () => Promise<void>;
}

/**
 * Delivers events from now on, each at least once, whichever of the replicas gets hold of it. While the database is
 * away nothing is claimed, and what was delivered meanwhile is written down when it is back.
 */
export function deliverEvents(options: DeliverEventsOptions): EventDelivery {
  const delivery = new Delivery(options);
  delivery.lookIn(0);
  return { wake: () => delivery.lookIn(0), close: () => delivery.close() };
}

class Delivery {
  readonly #options: DeliverEventsOptions;
  readonly #stopping = new AbortController();
  readonly #inFlight = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #nextLookAt = Number.POSITIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #looksAgain = false;
  /** The last look ended for want of room, not of events. */
  #hasMore = false;
  #isAway = false;
  #isClosed = false;

  constructor(options: DeliverEventsOptions) {
    this.#options = options;
  }

  /** Looks for due events after this pause, or sooner when that was planned already. */
  lookIn(pauseMs: number): void {
    const at = performance.now() + pauseMs;
    if (this.#isClosed || at >= this.#nextLookAt) return;
    clearTimeout(this.#timer);
    this.#nextLookAt = at;
    this.#timer = setTimeout(() => void this.#lookOnce(), pauseMs).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const done = async () => {
      await this.#looking;
      await Promise.all(this.#inFlight.values());
    };
    await Promise.race([done(), sleep(LAST_WORDS_MS)]);
    this.#stopping.abort();
    await Promise.race([done(), sleep(LAST_WORDS_MS)]);
  }

  async #lookOnce(): Promise<void> {
    this.#nextLookAt = Number.POSITIVE_INFINITY;
    if (this.#looking !== undefined) {
      // What made this look due may have come too late for the one under way.
      this.#looksAgain = true;
      return;
    }
    this.#looking = this.#look();
    await this.#looking;
    this.#looking = undefined;
    this.lookIn(this.#looksAgain ? 0 : LOOK_INTERVAL_MS);
    this.#looksAgain = false;
  }

  async #look(): Promise<void> {
    const { db, sink, clock, tryTimeoutMs } = this.#options;
    const leaseMs = tryTimeoutMs * TRIES_PER_LEASE;
    const limit = IN_FLIGHT_MAX - this.#inFlight.size;
    if (limit === 0) return;
    const claimedAt = performance.now();
    await this.#query(async () => {
      const events = await claimEvents(db, sink, { limit, now: clock.now(), leaseMs });
      this.#hasMore = events.length === limit;
      for (const event of events) {
        // One whose outcome still waits to be written down may have outlasted its lease.
        if (!this.#inFlight.has(event.id)) this.#start(event, claimedAt);
      }
    });
  }

  #start(event: ClaimedEvent, claimedAt: number): void {
    const delivered = this.#deliver(event, claimedAt).then((pauseMs) => {
      this.#inFlight.delete(event.id);
      this.lookIn(this.#hasMore ? 0 : pauseMs);
    });
    this.#inFlight.set(event.id, delivered);
  }

  /** Tries one event and writes down what came of it. Resolves with the pause after which a look is worth while. */
  async #deliver(event: ClaimedEvent, claimedAt: number): Promise<number> {
    const { db, clock, deliver, tryTimeoutMs, pausesMs, scale } = this.#options;
    // A process that was asleep may have lost the lease, or lose it before the try is over.
    const isLate = performance.now() - claimedAt > tryTimeoutMs * (TRIES_PER_LEASE - 1);
    const outcome: DeliveryOutcome = isLate
      ? { kind: "untried" }
      : await deliver(event, this.#stopping.signal);
    const pauseMs =
      outcome.kind === "failed"
        ? retryPauseMs({
            pausesMs,
            attempts: event.attempts,
            scale,
            retryAfterSeconds: outcome.retryAfterSeconds,
            random: Math.random(),
          })
        : undefined;
    this.#count(outcome, pauseMs === undefined);
    this.#report(event, outcome, pauseMs === undefined);
    const now = clock.now();
    const nextAttemptAt = pauseMs === undefined ? undefined : now + pauseMs;
    const record = () => recordDelivery(db, event, { outcome, nextAttemptAt, now });
    while (!(await this.#query(record)) && !this.#isClosed) await sleep(LOOK_INTERVAL_MS);
    return Math.min(pauseMs ?? LOOK_INTERVAL_MS, LOOK_INTERVAL_MS);
  }

  #count(outcome: DeliveryOutcome, isLast: boolean): void {
    const { deliveries, sink } = this.#options;
    const result = resultOf(outcome, isLast);
    if (deliveries !== undefined && result !== undefined) deliveries[sink][result] += 1;
  }

  #report(event: ClaimedEvent, outcome: DeliveryOutcome, isLast: boolean): void {
    const { log, sink } = this.#options;
    if (outcome.kind !== "failed" && outcome.kind !== "refused") return;
    const { id, kind, attempts } = event;
    const facts = { sink, event: id, type: kind, attempts, reason: outcome.error };
    if (isLast) log.error(facts, "an event was not delivered and is given up");
    else if (attempts === 1) log.warn(facts, "an event was not delivered and will be tried again");
  }

  /** Resolves with false when the database cannot be used now, said once in the log. Never rejects. */
  async #query(work: () => Promise<void>): Promise<boolean> {
    const { log } = this.#options;
    try {
      await within(work(), QUERY_TIMEOUT_MS, () => new DatabaseError("TIMEOUT", "It hangs."));
      if (this.#isAway) log.info("events are delivered again");
      this.#isAway = false;
      return true;
    } catch (thrown) {
      const cause = toDatabaseError(thrown).message;
      if (!this.#isAway) log.warn({ cause }, "events wait for the database");
      this.#isAway = true;
      return false;
    }
  }
}

function sleep(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs).unref());
}
