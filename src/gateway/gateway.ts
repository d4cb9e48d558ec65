import type { Origin } from "../access/actor.ts";
import type { AddedBytes } from "../backends/backend.ts";
import type { ModelCatalog } from "../backends/models/model-catalog.ts";
import type { Caller } from "../core/callers/caller.ts";
import type { Channel } from "../core/channel.ts";
import type { CallTrace } from "../lib/call-trace.ts";
import type { CancelSignal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Admission, Limits } from "../limits/limits.ts";
import type { LimitRefusals } from "../usage/sums/limit-refusals.ts";
import type { UsageJournal, UsageRecord } from "../usage/usage-record.ts";
import type { AssistantServices } from "./assistant/assistant-services.ts";
import type { FailureLog } from "./failure-log.ts";
import type { CallFigures } from "./meter/call-figures.ts";

/** The parts of the other areas that the pipeline needs. */
export interface Gateway {
  readonly models: ModelCatalog;
  readonly journal: UsageJournal;
  readonly clock: Clock;
  readonly limits: Pick<
    Limits,
    "admit" | "refuseExhausted" | "countInMinute" | "book" | "bookSession"
  >;
  /** The output limit of a request in which the client names no limit. */
  readonly defaultMaxOutputTokens: number;
  /** Models to try, in this order, for a request that names no fallbacks itself. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly failures?: FailureLog | undefined;
  /** Counts the metered calls. */
  readonly figures?: CallFigures | undefined;
  /** Absent where no assistants are served. */
  readonly assistants?: AssistantServices | undefined;
  /** Counts the calls that a limit of their key refuses. */
  readonly refusals?: Pick<LimitRefusals, "count"> | undefined;
}

/** Observes the metering of one call. Never throws. */
export interface CallObserver {
  /** Announces that `meterEnded` will follow, once. */
  readonly meterBegan: () => void;
  /** @param record is the call's usage row, or for a call without a row the row it would have. */
  readonly meterEnded: (record: UsageRecord) => void;
}

/** One call of a client, in any wire format. */
export interface ClientCall {
  readonly requestId: string;
  readonly caller: Caller;
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly signal: CancelSignal;
  /** The trace for the call's requests to engines, if requests are traced. */
  readonly trace?: CallTrace | undefined;
  readonly observer?: CallObserver | undefined;
  /** Counts what backends add to the call's body. */
  readonly added?: AddedBytes | undefined;
  /** The workflow's run that makes the call; absent for calls of clients. */
  readonly runId?: string | undefined;
  /** Returns the client's address for the audit log; absent when it is not known. */
  readonly address?: (() => string | null) | undefined;
}

/** Returns where a call comes from, for the audit log. */
export function originOf({ address, requestId }: ClientCall): Origin {
  return { address: address?.() ?? null, requestId };
}

/** The reservation of one call, for all of its rounds. */
export interface Reservation {
  readonly admission: Admission;
  /** The tokens that the call cannot exceed, replaced when it gets more; undefined when it has no token limit. */
  budget?: TokenBudget | undefined;
}

export interface TokenBudget {
  readonly inputTokens: number;
  readonly outputTokens: number;
}
