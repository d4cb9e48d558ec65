import type { CallTrace } from "../../lib/call-trace.ts";
import type { UsageRecord } from "../../usage/usage-record.ts";

/** Reports requests to a collector, as OpenTelemetry spans. Bodies are never part of them. */
export interface Tracing {
  /** Begins the trace of a request. Undefined when the client asks not to record it. */
  readonly begin: (arrival: Arrival) => RequestTrace | undefined;
  /** Sends the waiting spans, for a bounded time. Never rejects. */
  readonly close: () => Promise<void>;
}

export interface Arrival {
  readonly method: string;
  readonly headers: Headers;
  readonly requestId: string;
  /** Unix milliseconds. */
  readonly arrivedAt: number;
}

/** The trace of one request. */
export interface RequestTrace {
  /** For the request's calls to the operator's own engines. */
  readonly call: CallTrace;
  /** Ends the trace: the answer is sent completely, or broke off. */
  readonly end: (finished: TracedRequest) => void;
}

export interface TracedRequest {
  /** As a pattern; undefined for an unknown path. */
  readonly route: string | undefined;
  readonly status: number;
  /** Unix milliseconds. */
  readonly endedAt: number;
  /** Present for a metered call. */
  readonly usage?: TracedUsage | undefined;
  /** The error code that the caller received; undefined for one that left. */
  readonly errorCode?: string | undefined;
  /** The backend of its model; undefined where it is unknown. */
  readonly backend?: string | undefined;
}

/** The fields of a model call that a span contains. */
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
  | "toolName"
>;
