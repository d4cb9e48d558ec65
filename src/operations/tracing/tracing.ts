import type { CallTrace } from "../../lib/call-trace.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";

/** Tells a collector how requests went, as OpenTelemetry spans. Bodies are never part of them. */
export interface Tracing {
  /** A request begins. Undefined when its client asks for no trace of it. */
  readonly begin: (arrival: Arrival) => RequestTrace | undefined;
  /** Sends what waits, for a bounded time. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface Arrival {
  readonly method: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Unix milliseconds. */
  readonly arrivedAt: number;
}

/** One request while it is traced. */
export interface RequestTrace {
  /** For the calls to engines of the operator's own that are made for it. */
  readonly call: CallTrace;
  /** The request is over: its answer is sent to the end, or broke off. */
  readonly end: (finished: TracedRequest) => void;
}

export interface TracedRequest {
  /** As a pattern; undefined for a path that is none of ours. */
  readonly route: string | undefined;
  readonly status: number;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** Of a metered call. */
  readonly usage?: TracedUsage | undefined;
  /** What the caller was told went wrong; undefined for one that left. */
  readonly errorCode?: string | undefined;
  /** The backend that its model belongs to; undefined where that is not known. */
  readonly backend?: string | undefined;
}

/** What a span tells of a call to a model. */
export type TracedUsage = Pick<
  UsageRecord,
  | "keyId"
  | "channel"
  | "model"
  | "outcome"
  | "startedAt"
  | "latencyMs"
  | "firstTokenMs"
  | "inputTokens"
  | "outputTokens"
  | "cachedTokens"
  | "reasoningTokens"
>;
