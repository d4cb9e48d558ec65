import type { JsonObject } from "../../lib/json.ts";
import {
  NO_USAGE,
  type UsageFigures,
  type UsageGroup,
  type UsageReport,
  type UsageRow,
} from "../../usage/reports/usage-report.ts";
import type { CsvCell } from "./csv.ts";

type Fields = Readonly<Record<string, CsvCell>>;

/** A report as JSON. */
export function usageReportJson(report: UsageReport, groups: readonly UsageGroup[]): JsonObject {
  return {
    object: "list",
    from: new Date(report.from).toISOString(),
    to: new Date(report.to).toISOString(),
    hourly_from: new Date(report.hourlyFrom).toISOString(),
    group: [...groups],
    data: report.rows.map((row) => usageFields(row, groups)),
    has_more: report.hasMore,
    totals: figureFields(report.totals),
  };
}

/** A row by the names it has in JSON and in CSV: what it is grouped by, and its figures. */
export function usageFields(row: UsageRow, groups: readonly UsageGroup[]): Fields {
  const named = groups.map((group) => GROUP_FIELDS[group](row));
  return Object.assign({}, ...named, figureFields(row));
}

/** The names alone, in their order. */
export function usageColumns(groups: readonly UsageGroup[]): readonly string[] {
  return Object.keys(usageFields(NO_USAGE, groups));
}

const timeText = ({ time }: UsageRow) => (time === null ? "" : new Date(time).toISOString());

const GROUP_FIELDS: Readonly<Record<UsageGroup, (row: UsageRow) => Fields>> = {
  hour: (row) => ({ hour: timeText(row) }),
  day: (row) => ({ day: timeText(row).slice(0, 10) }),
  month: (row) => ({ month: timeText(row).slice(0, 7) }),
  key: ({ key }) => ({
    key_id: key?.id ?? null,
    key_name: key?.name ?? null,
    key_state: key?.state ?? null,
    owner_id: key?.ownerId ?? null,
    owner_name: key?.ownerName ?? null,
  }),
  model: ({ model }) => ({ model }),
  channel: ({ channel }) => ({ channel }),
  user: ({ user }) => ({
    user_id: user?.id ?? null,
    username: user?.name ?? null,
    user_state: user?.state ?? null,
  }),
};

function figureFields(figures: UsageFigures): Fields {
  const { requests, failures, aborted } = figures;
  return {
    requests,
    ok: requests - failures - aborted,
    failures,
    rate_limited: figures.rateLimited,
    aborted,
    refused: figures.refused,
    input_tokens: figures.inputTokens,
    output_tokens: figures.outputTokens,
    cached_tokens: figures.cachedTokens,
    reasoning_tokens: figures.reasoningTokens,
    total_tokens: figures.inputTokens + figures.outputTokens,
    average_latency_ms: requests === 0 ? null : Math.round(figures.latencyMs / requests),
  };
}
