import type { EventFilters, GatewayEvent, Sink } from "../../api/queries/events.ts";
import type { Tone } from "../../ui/status/badge.tsx";

/** Records, so that what the server adds is missed by the compiler. */
const SINKS: Readonly<Record<Sink, string>> = {
  alert_webhook: "Alerts by webhook",
  internal: "Within the gateway",
  workflow_notify: "Messages of workflows",
};
export const STATES: Readonly<
  Record<GatewayEvent["state"], { readonly label: string; readonly tone: Tone }>
> = {
  pending: { label: "Pending", tone: "accent" },
  delivered: { label: "Delivered", tone: "ok" },
  dead: { label: "Dead", tone: "bad" },
};

export const SINK_NAMES = Object.keys(SINKS) as readonly Sink[];

/** Returns what people call a sink; one of an earlier release has its own name only. */
export function labelOfSink(sink: string): string {
  return isSink(sink) ? SINKS[sink] : sink;
}

/** What the address of the page says, with its defaults. */
export const DEFAULTS = { tab: "events", state: "", sink: "", kind: "" };

/** Returns the filters as the server knows them. What is none in the address is left out. */
export function toFilters({ state, sink, kind }: typeof DEFAULTS): EventFilters {
  return {
    ...(isState(state) && { state }),
    ...(isSink(sink) && { sink }),
    ...(kind !== "" && { kind }),
  };
}

function isSink(text: string): text is Sink {
  return Object.hasOwn(SINKS, text);
}

function isState(text: string): text is GatewayEvent["state"] {
  return Object.hasOwn(STATES, text);
}
