import type { Channel } from "../core/channel.ts";

/** How a metered call ended. `rate_limited` is the upstream's refusal, not the gateway's. */
export const OUTCOMES = ["ok", "error", "aborted", "rate_limited"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** The data known when a metered call begins. */
export interface UsageStart {
  /** The request id, unique: the row's id. */
  readonly id: string;
  readonly keyId: string;
  readonly channel: Channel;
  /** The model that answers; empty for a call of a tool. */
  readonly model: string;
  /** Unix milliseconds. */
  readonly startedAt: number;
  /** Estimate of the prompt's tokens, used when the call never reports them. */
  readonly inputTokens: number;
  /** The assistant that answers; absent when a model does. */
  readonly assistantId?: string | undefined;
  /** The tool that is called; absent when a model is. */
  readonly toolName?: string | undefined;
  /** The workflow's run that makes the call; absent for calls of clients. */
  readonly runId?: string | undefined;
}

/** One row per metered call. Bodies are never part of it. */
export interface UsageRecord extends UsageStart {
  readonly outcome: Outcome;
  /** The HTTP status the client saw. */
  readonly status: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Tokens that limits were charged beyond input and output; absent when there were none. */
  readonly extraCharge?: number | undefined;
  /** True when the gateway counted the tokens because the vendor did not. */
  readonly estimated: boolean;
  /** Milliseconds from admission to the end. */
  readonly latencyMs: number;
  /** Milliseconds from admission to the first event; null without one. */
  readonly firstTokenMs: number | null;
}

/**
 * Records metered calls. Call `open` before the upstream call, `recordStart` before the first byte to the client, and
 * `close` before the last one.
 */
export interface UsageJournal {
  /** Throws or rejects with `storage_unavailable` when neither the journal nor the database takes records. */
  readonly open: (start: UsageStart) => UsageEntry | Promise<UsageEntry>;
}

export interface UsageEntry {
  /**
   * Records the start, unless it is recorded: a call that lasts gets it anyway. Undefined, or a promise to wait for;
   * never rejects. A call that is closed without it has sent nothing before its end.
   */
  readonly recordStart: () => undefined | Promise<void>;
  /** Records the output tokens so far, for a call that a crash cuts. At most once a second per stream. */
  readonly progress: (outputTokens: number) => void;
  /**
   * Records the end. Undefined: the record is safe already; a promise: wait for it before the last byte. Rejects with
   * `storage_unavailable`.
   */
  readonly close: (record: UsageRecord) => undefined | Promise<void>;
}
