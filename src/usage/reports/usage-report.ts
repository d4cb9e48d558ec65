import type { Channel } from "../../core/channel.ts";
import type { UsageOwner } from "./usage-scope.ts";

/** What usage may be summed up by. */
export const USAGE_GROUPS = ["hour", "day", "month", "key", "model", "channel", "user"] as const;

export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Of these, the ones that are times. */
export type TimeGroup = Extract<UsageGroup, "hour" | "day" | "month">;

export interface UsageReportQuery extends UsageOwner {
  /** Unix milliseconds: the first moment, and the first that is no longer meant. */
  readonly from: number;
  readonly to: number;
  /** One or two, at most one of them a time. */
  readonly groups: readonly UsageGroup[];
  readonly model?: string | undefined;
  readonly channel?: Channel | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Sums of metered calls. */
export interface UsageFigures {
  readonly requests: number;
  /** Not answered: outcome `error` or `rate_limited`. */
  readonly failures: number;
  /** Of these, refused by the upstream as too many. */
  readonly rateLimited: number;
  /** The client left. */
  readonly aborted: number;
  /** The sum of all latencies. */
  readonly latencyMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Calls that a limit of their key refused, which are no requests; null: not known by model. */
  readonly refused: number | null;
}

/** One group's sums. Of what it is not grouped by, a row says null. */
export interface UsageRow extends UsageFigures {
  /** Unix milliseconds: the beginning of the hour, day or month. */
  readonly time: number | null;
  readonly key: UsageKey | null;
  readonly model: string | null;
  readonly channel: Channel | null;
  readonly user: UsageUser | null;
}

/** A row of which nothing is known, and in which nothing was used. */
export const NO_USAGE: UsageRow = {
  time: null,
  key: null,
  model: null,
  channel: null,
  user: null,
  requests: 0,
  failures: 0,
  rateLimited: 0,
  aborted: 0,
  latencyMs: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  refused: 0,
};

/** A key and its owner; names are null once the key is deleted. */
export interface UsageKey {
  readonly id: string;
  readonly name: string | null;
  readonly state: "active" | "inactive" | "deleted";
  readonly ownerId: string | null;
  readonly ownerName: string | null;
}

/** Whoever owns the keys now. All keys that are deleted, by themselves or with their owner, count as one without a name. */
export interface UsageUser {
  readonly id: string | null;
  readonly name: string | null;
  readonly state: "active" | "disabled" | "deleted";
}

export interface UsageReport {
  /** The range that the sums are over: that of the query, widened to whole hours, or days before `hourlyFrom`. */
  readonly from: number;
  readonly to: number;
  /** Before it usage is kept by day: an hour is a whole day, and begins with it. */
  readonly hourlyFrom: number;
  readonly rows: readonly UsageRow[];
  /** There are further rows. */
  readonly hasMore: boolean;
  /** Over all rows, not only those of this page. */
  readonly totals: UsageFigures;
}
