import type { ModelCatalog } from "../backends/model-catalog.ts";
import type { Caller } from "../core/caller.ts";
import type { Clock } from "../lib/clock.ts";
import type { FailureLog } from "./failure-log.ts";
import type { Channel, UsageJournal } from "./usage-record.ts";

/** What the pipeline stands on. */
export interface Gateway {
  readonly models: ModelCatalog;
  readonly journal: UsageJournal;
  readonly clock: Clock;
  /** Output tokens asked for when the client names no limit. */
  readonly defaultMaxOutputTokens: number;
  /** Models to try, in this order, for a request that names none itself. */
  readonly fallbacks?: readonly string[] | undefined;
  readonly failures?: FailureLog | undefined;
}

/** One call of a client, whatever format it speaks. */
export interface ClientCall {
  readonly requestId: string;
  readonly caller: Caller;
  readonly channel: Channel;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly signal: AbortSignal;
}
