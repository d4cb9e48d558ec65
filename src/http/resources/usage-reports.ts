import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import { CHANNELS } from "../../core/channel.ts";
import type { Deps } from "../../deps.ts";
import { readUsageReport } from "../../usage/reports/read-usage-report.ts";
import {
  NO_USAGE,
  USAGE_GROUPS,
  USAGE_SORTS,
  type UsageFigures,
  type UsageGroup,
  type UsageRow,
} from "../../usage/reports/usage-report.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { queryFormat, tableResponse, wantsCsv } from "../answers/table-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { count, queryId, searchText, unixTime } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, page, readQuery } from "../page.ts";
import { queryTime, readRange } from "../query-range.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 400;
const MAX_GROUPS = 2;
const MAX_TOP = 100;
const TIMES: ReadonlySet<string> = new Set(["hour", "day", "month"]);

const usageQuery = page(
  {
    from: queryTime.optional(),
    to: queryTime.optional(),
    group: z
      .string()
      .default("day")
      .openapi({ description: `One or two of ${USAGE_GROUPS.join(", ")}; at most one a time.` }),
    key_id: queryId.optional(),
    model: searchText(200).optional(),
    channel: z.enum(CHANNELS).optional(),
    user_id: queryId.optional(),
    sort: z
      .enum(USAGE_SORTS)
      .default("requests")
      .openapi({ description: "Of a time, the rows with the most of it come first." }),
    top: z.int().min(1).max(MAX_TOP).optional().openapi({
      description:
        "Rows of so many groups only, those with the most of `sort` over the whole range.",
    }),
    format: queryFormat.optional(),
  },
  byOffset,
).extend({ limit: z.int().min(1).max(10_000).default(1_000) });

const figures = z.object({
  requests: count,
  ok: count,
  failures: count,
  rate_limited: count.openapi({ description: "Of the failures: refused by the upstream." }),
  aborted: count.openapi({ description: "The client left." }),
  refused: count.nullable().openapi({
    description:
      "Calls that a limit of their key refused, which are no requests; null: not known by model.",
  }),
  input_tokens: count,
  output_tokens: count,
  cached_tokens: count,
  reasoning_tokens: count,
  total_tokens: count,
  average_latency_ms: count.nullable(),
});

const name = z.string().nullable().optional();
const usageRow = z
  .object({
    hour: z.string().optional(),
    day: z.string().optional(),
    month: z.string().optional(),
    key_id: name,
    key_name: name,
    key_state: name,
    owner_id: name,
    owner_name: name,
    model: name,
    channel: z.enum(CHANNELS).nullable().optional(),
    user_id: name,
    username: name,
    user_state: name,
    ...figures.shape,
  })
  .openapi("UsageRow", { description: "What it is grouped by, and its figures." });

const usageReport = z
  .object({
    object: z.literal("list"),
    from: unixTime,
    to: unixTime,
    hourly_from: unixTime.openapi({ description: "Before it usage is kept by day." }),
    group: z.array(z.enum(USAGE_GROUPS)),
    data: z.array(usageRow.readonly()),
    has_more: z.boolean(),
    totals: figures,
  })
  .openapi("UsageReport");

const REPORT = resourceRoute({
  path: "/api/usage",
  method: "get",
  access: "session",
  tokens: "usage",
  tag: "Usage",
  operationId: "getUsage",
  summary: "Report what was used, by whom, of what, when",
  description:
    "From the sums by hour, which stay when the single rows are gone. Administrators see all, users what the keys that " +
    "they own now have used. `from` and `to` are times or dates of UTC (the last 30 days unless given, 400 at most) and " +
    "are widened to whole hours; the answer says to what. Before its `hourly_from` usage is kept by day: there a range is " +
    "widened to whole days, and an hour is a whole day. A time without a second group has a row for each hour, day or " +
    "month of the range. Rows go by time and then by `sort`, the most first; `totals` are over all groups, whatever " +
    "the page and `top`. `limit` and `offset` page exactly when the range is given and is over; calls that are still to come change " +
    "the order of the hour, day or month they count in.",
  query: usageQuery,
  answer: { description: "A page of the report.", schema: usageReport, hasCsv: true },
});

/** `/api/usage`: reports of usage. */
export function usageReportsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  const { database } = deps.access;
  const reading = { database, clock, retentionDays: deps.settings.USAGE_RETENTION_DAYS };
  router.add(REPORT, async (context, caller) => {
    const { group, format, ...asked } = readQuery(context, usageQuery);
    const range = readUsageRange(asked, clock.now());
    const groups = readGroups(group);
    const query = { ...toRecord(asked), ...range, groups };
    const report = await readUsageReport(reading, caller, query);
    const rows = report.rows.map((row) => rowFields(row, groups));
    if (!wantsCsv(context, format)) {
      const shown = { ...report, group: groups, data: rows, totals: figuresOf(report.totals) };
      return jsonResponse(toJson(usageReport, shown));
    }
    const { limit, offset } = query;
    // The link names the range, because a default range would have moved on by then, and the rows with it.
    const from = new Date(range.from).toISOString();
    const to = new Date(range.to).toISOString();
    return tableResponse(context, {
      name: fileName(groups, range),
      columns: Object.keys(rowFields(NO_USAGE, groups)),
      rows,
      next: report.hasMore ? { from, to, offset: String(offset + limit) } : null,
    });
  });
  return router;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function readUsageRange(asked: Parameters<typeof readRange>[0], now: number): Range {
  const from = (to: number) => Math.max(0, to - DEFAULT_DAYS * DAY_MS);
  return readRange(asked, { from, to: now }, MAX_DAYS);
}

function readGroups(text: string): readonly UsageGroup[] {
  const names = text.split(",").map((part) => part.trim());
  const groups = USAGE_GROUPS.filter((group) => names.includes(group));
  const isSound = groups.length === names.length && names.length <= MAX_GROUPS;
  if (!isSound || groups.filter((group) => TIMES.has(group)).length > 1) {
    throw invalidValue(
      ["group"],
      `one or two of ${USAGE_GROUPS.join(", ")}, at most one of them a time`,
      text,
    );
  }
  return groups;
}

function fileName(groups: readonly UsageGroup[], { from, to }: Range): string {
  const [first, last] = [from, to - 1].map((time) => new Date(time).toISOString().slice(0, 10));
  return `usage-by-${groups.join("-and-")}-${first}-to-${last}`;
}

type Row = z.output<typeof usageRow>;

/** Returns a row with its names in JSON and CSV. */
function rowFields(row: UsageRow, groups: readonly UsageGroup[]): Row {
  const named = groups.map((group) => GROUP_FIELDS[group](row));
  return Object.assign({}, ...named, toJson(figures, figuresOf(row)));
}

const timeOf = ({ time }: UsageRow) => (time === null ? "" : new Date(time).toISOString());

const GROUP_FIELDS: Readonly<Record<UsageGroup, (row: UsageRow) => Partial<Row>>> = {
  hour: (row) => ({ hour: timeOf(row) }),
  day: (row) => ({ day: timeOf(row).slice(0, 10) }),
  month: (row) => ({ month: timeOf(row).slice(0, 7) }),
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

function figuresOf(sums: UsageFigures) {
  const { requests, failures, aborted, latencyMs, inputTokens, outputTokens } = sums;
  return {
    ...sums,
    ok: requests - failures - aborted,
    totalTokens: inputTokens + outputTokens,
    averageLatencyMs: requests === 0 ? null : Math.round(latencyMs / requests),
  };
}
