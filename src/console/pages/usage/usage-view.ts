import type { UsageQuery, UsageRow } from "../../api/queries/usage.ts";
import { CHANNEL_NAMES, readChannel } from "../../lib/clients/channels.ts";
import type { Range } from "../../lib/range.ts";

/** What the address of the page says, with its defaults. */
export const DEFAULTS = {
  range: "30",
  until: "",
  by: "model",
  metric: "total_tokens",
  sort: "",
  key: "",
  user: "",
  model: "",
  channel: "",
};
export type ViewState = typeof DEFAULTS;

export type Metric = NonNullable<UsageQuery["sort"]>;

/** What the chart can show; the server sorts by the same names. */
export const METRICS: ReadonlyArray<{ readonly value: Metric; readonly label: string }> = [
  { value: "total_tokens", label: "Tokens" },
  { value: "input_tokens", label: "Input tokens" },
  { value: "output_tokens", label: "Output tokens" },
  { value: "cached_tokens", label: "Cached tokens" },
  { value: "requests", label: "Requests" },
  { value: "failures", label: "Failed requests" },
];

/** What usage can be told apart by. */
export const GROUPS = [
  { value: "model", label: "By model", head: "Model" },
  { value: "key", label: "By key", head: "Key" },
  { value: "user", label: "By user", head: "User" },
  { value: "channel", label: "By channel", head: "Channel" },
] as const;
export type Group = (typeof GROUPS)[number]["value"];

export function isGroup(text: string | undefined): text is Group {
  return GROUPS.some(({ value }) => value === text);
}

export interface UsageView {
  readonly group: Group;
  readonly metric: Metric;
  readonly sort: Metric;
  /** Range and filters, as the server knows them. */
  readonly query: UsageQuery;
}

/** Returns what is asked for. What the address has and nobody knows is the default. */
export function readView(state: ViewState, range: Range): UsageView {
  const group = isGroup(state.by) ? state.by : "model";
  const metric = metricOf(state.metric) ?? "total_tokens";
  const channel = readChannel(state.channel);
  return {
    group,
    metric,
    sort: metricOf(state.sort) ?? metric,
    query: {
      from: range.from,
      to: range.to,
      ...(state.key !== "" && { key_id: state.key }),
      ...(state.user !== "" && { user_id: state.user }),
      ...(state.model !== "" && { model: state.model }),
      ...(channel && { channel }),
    },
  };
}

/** Returns what tells a row's group from the others. */
export function idOfRow(row: UsageRow, group: Group): string {
  const id = { model: row.model, key: row.key_id, user: row.user_id, channel: row.channel }[group];
  return id ?? "";
}

/** Returns the name of a row's group, as people call it. */
export function nameOfRow(row: UsageRow, group: Group): string {
  switch (group) {
    case "model":
      return row.model || "Tools by MCP";
    case "key":
      return row.key_name ?? `deleted key ${row.key_id ?? ""}`;
    case "user":
      return row.username ?? "Deleted keys";
    case "channel":
      return row.channel ? CHANNEL_NAMES[row.channel] : "–";
  }
}

export function labelOfMetric(metric: Metric): string {
  return METRICS.find(({ value }) => value === metric)?.label ?? metric;
}

function metricOf(text: string): Metric | undefined {
  return METRICS.find(({ value }) => value === text)?.value;
}
