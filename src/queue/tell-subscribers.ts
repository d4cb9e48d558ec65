import { ServiceError } from "../core/service-error.ts";
import { isFromDatabase, toDatabaseError } from "../db/database-error.ts";
import { limitSignal } from "../lib/http/limit-signal.ts";
import type { Log } from "../lib/log.ts";
import type { ClaimedEvent } from "./claim-events.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";
import type { DeliveredEvent, Subscriber } from "./subscription.ts";

export interface TellOptions {
  readonly subscribers: readonly Subscriber[];
  readonly log: Log;
  /** Longest time for a subscriber. */
  readonly timeoutMs: number;
  /** Gives the try up. */
  readonly stopping: AbortSignal;
}

/**
 * Tells an event to all who want it, side by side; it is delivered when every one of them has taken it in, and so it is
 * when nobody wants it. Never rejects.
 */
export async function tellSubscribers(
  claimed: ClaimedEvent,
  { subscribers, log, timeoutMs, stopping }: TellOptions,
): Promise<DeliveryOutcome> {
  const { id, kind, body, attempts } = claimed;
  // As it was stored; a kind that only a later release knows is wanted by nobody here.
  const event = { id, kind, body } as unknown as DeliveredEvent;
  const wanting = subscribers.filter(({ wants }) => wants(event));
  if (wanting.length === 0) return { kind: "delivered" };
  const signal = limitSignal(stopping, timeoutMs);
  const tell = async ({ name, handle }: Subscriber) => {
    try {
      await Promise.race([handle(event, signal), aborted(signal)]);
      return undefined;
    } catch (thrown) {
      // The rest of the tries say the same.
      if (attempts === 1)
        log.warn({ err: thrown, event: id, subscriber: name }, "a subscriber failed");
      return `${name}: ${signal.aborted ? `not done within ${timeoutMs / 1_000} s` : wordsOf(thrown)}`;
    }
  };
  const failures = await Promise.all(wanting.map(tell));
  const error = failures.find((failure) => failure !== undefined);
  if (error === undefined) return { kind: "delivered" };
  return stopping.aborted ? { kind: "untried" } : { kind: "failed", error };
}

/** Only texts that are made to be shown; any other may hold what the event was about. */
function wordsOf(thrown: unknown): string {
  if (thrown instanceof ServiceError) return thrown.message;
  if (isFromDatabase(thrown)) return toDatabaseError(thrown).message;
  return thrown instanceof Error ? thrown.name : "it failed";
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
