import { zeroCounts } from "../lib/zero-counts.ts";
import type { DeliveryOutcome } from "./delivery-outcome.ts";
import { SINKS, type Sink } from "./enqueue-event.ts";

/** How a try ended: `failed` is tried again, `given_up` is not. */
const RESULTS = ["delivered", "failed", "given_up"] as const;
type DeliveryResult = (typeof RESULTS)[number];

/** The tries of this process to deliver events, by their sink. */
export type DeliveryFigures = Readonly<Record<Sink, Record<DeliveryResult, number>>>;

export function createDeliveryFigures(): DeliveryFigures {
  const entries = SINKS.map((sink) => [sink, zeroCounts(RESULTS)] as const);
  return Object.fromEntries(entries) as Record<Sink, Record<DeliveryResult, number>>;
}

/** @param isLast the event is not tried again. */
export function resultOf({ kind }: DeliveryOutcome, isLast: boolean): DeliveryResult | undefined {
  switch (kind) {
    case "delivered":
      return "delivered";
    case "failed":
      return isLast ? "given_up" : "failed";
    case "refused":
      return "given_up";
    case "untried":
      return undefined;
  }
}
