import type { Channel } from "../../core/channel.ts";
import type { UsageOwner } from "./usage-scope.ts";

/** The fields by which usage may be grouped. */
export const USAGE_GROUPS = ["hour", "day", "month", "key", "model", "channel", "user"] as const;

export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** The groups that are times. */
export type TimeGroup = Extract<UsageGroup, "hour" | "day" | "month">;

/** The figures by which groups may be sorted, the most first. */
export const USAGE_SORTS = [
  "requests",
  "failures",
  "refused",
  "input_tokens",
  "output_tokens",
  "cached_tokens",
  "total_tokens",
] as const;

export type UsageSort = (typeof USAGE_SORTS)[number];

export interface UsageReportQuery extends UsageOwner {
  /** Unix milliseconds; `to` is exclusive. */
  readonly from: number;
  readonly to: number;
  /** One or two, at most one of them a time. */
  readonly groups: readonly UsageGroup[];
  readonly model?: string | undefined;
  readonly channel?: Channel | undefined;
  /** The order of the groups within a time; `requests` unless given. */
  readonly sort?: UsageSort | undefined;
  /** Rows are of these many groups only: those with the most over the whole range. Totals are of all. */
  readonly top?: number | undefined;
  readonly limit: number;
  readonly offset: number;
}

/** Sums of metered calls. */
export interface UsageFigures {
  readonly requests: number;
  /** Calls with outcome `error` or `rate_limited`. */
  readonly failures: number;
  /** The failures in which the upstream refused the call as one too many. */
  readonly rateLimited: number;
  /** Calls that the client aborted. */
  readonly aborted: number;
  /** The sum of all latencies. */
  readonly latencyMs: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
  /** Calls that a limit of their key refused, which are not requests; null: not known by model. */
  readonly refused: number | null;
}

/** One group's sums. Fields that the query does not group by are null. */
export interface UsageRow extends UsageFigures {
  /** Unix milliseconds: the beginning of the hour, day or month. */
  readonly time: number | null;
  readonly key: UsageKey | null;
  readonly model: string | null;
  readonly channel: Channel | null;
  readonly user: UsageUser | null;
}

/** An empty row: no group and zero usage. */
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

/**
 * The present owner of the keys. All deleted keys, deleted singly or with their owner, count as one owner without a
 * name.
 */
export interface UsageUser {
  readonly id: string | null;
  readonly name: string | null;
  readonly state: "active" | "disabled" | "deleted";
}

export interface UsageReport {
  /** The range of the sums: that of the query, widened to whole hours, or days before `hourlyFrom`. */
  readonly from: number;
  readonly to: number;
  /** Before it, usage is kept by day: a row's hour stands for the whole day that begins with it. */
  readonly hourlyFrom: number;
  readonly rows: readonly UsageRow[];
  readonly hasMore: boolean;
  /** Over all rows, not only those of this page. */
  readonly totals: UsageFigures;
}
