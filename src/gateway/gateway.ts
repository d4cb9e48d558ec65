import type { ModelCatalog } from "../backends/models/model-catalog.ts";
import type { Caller } from "../core/caller.ts";
import type { Channel } from "../core/channel.ts";
import type { CallTrace } from "../lib/call-trace.ts";
import type { Clock } from "../lib/clock.ts";
import type { Admission, Limits } from "../limits/limits.ts";
import type { LimitRefusals } from "../usage/sums/limit-refusals.ts";
import type { UsageJournal, UsageRecord } from "../usage/usage-record.ts";
import type { CallFigures } from "./call-figures.ts";
import type { FailureLog } from "./failure-log.ts";

/** What the pipeline needs of the other areas. */
export interface Gateway {
  readonly models: ModelCatalog;
  readonly journal: UsageJournal;
  readonly clock: Clock;
  readonly limits: Pick<Limits, "admit" | "refuseExhausted" | "countInMinute" | "book">;
  /** Output tokens asked for when the client names no limit. */
  readonly defaultMaxOutputTokens: number;
  /** Models to try, in this order, for a request that names none itself. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly failures?: FailureLog | undefined;
  /** Where metered calls are counted. */
  readonly figures?: CallFigures | undefined;
  /** Where calls are counted that a limit of their key refuses. */
  readonly refusals?: Pick<LimitRefusals, "count"> | undefined;
}

/** Follows the metering of one call. Never throws. */
export interface CallObserver {
  /** `meterEnded` is to follow, once. */
  readonly meterBegan: () => void;
  /** @param record what the call's usage row tells, or would tell if it had one. */
  readonly meterEnded: (record: UsageRecord) => void;
}

/** One call of a client, whatever format it speaks. */
export interface ClientCall {
  readonly requestId: string;
  readonly caller: Caller;
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
  /** For its calls to engines, where requests are traced. */
  readonly trace?: CallTrace | undefined;
  readonly observer?: CallObserver | undefined;
}

/** What limits hold for one call, however many rounds it has. */
export interface Reservation {
  readonly admission: Admission;
  /** What the call cannot exceed; undefined where no limit on tokens holds. */
  readonly budget?: TokenBudget | undefined;
}

export interface TokenBudget {
  readonly inputTokens: number;
  readonly outputTokens: number;
}
