import { z } from "zod";
import { checkRequest, invalidValue } from "../../codecs/shared/check-request.ts";
import {
  USAGE_GROUPS,
  type UsageGroup,
  type UsageReportQuery,
} from "../../usage/reports/usage-report.ts";
import { wantsCsv } from "../answers/table-response.ts";
import type { RequestContext } from "../request/route.ts";
import { queryChannel, queryFormat, queryId, queryModel } from "./query-fields.ts";
import { queryTime, readRange } from "./query-range.ts";
import { queryTexts } from "./query-texts.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
const DEFAULT_DAYS = 30;
const MAX_DAYS = 400;
const MAX_LIMIT = 10_000;
const DEFAULT_LIMIT = 1_000;
const MAX_OFFSET = 1_000_000_000;
const MAX_GROUPS = 2;
const TIMES: ReadonlySet<string> = new Set(["hour", "day", "month"]);

const querySchema = z.strictObject({
  from: queryTime.optional(),
  to: queryTime.optional(),
  group: z.string().optional(),
  key_id: queryId.optional(),
  model: queryModel.optional(),
  channel: queryChannel.optional(),
  user_id: queryId.optional(),
  format: queryFormat.optional(),
  limit: z.int().min(1).max(MAX_LIMIT),
  offset: z.int().min(0).max(MAX_OFFSET),
});

export interface UsageReportRequest extends UsageReportQuery {
  readonly isCsv: boolean;
}

/**
 * Reads what usage is asked for. Throws `invalid_value` that names the parameter at fault, and `unsupported_parameter`
 * for one that does not exist: a filter misspelt would show what nobody asked for.
 *
 * @param now Unix milliseconds.
 */
export function readUsageReportQuery(context: RequestContext, now: number): UsageReportRequest {
  const { limit = String(DEFAULT_LIMIT), offset = "0", ...texts } = queryTexts(context);
  const asked: unknown = { ...texts, limit: Number(limit), offset: Number(offset) };
  checkRequest(querySchema, asked);
  const otherwise = { from: (to: number) => Math.max(0, to - DEFAULT_DAYS * DAY_MS), to: now };
  return {
    ...readRange(asked, otherwise, MAX_DAYS),
    groups: readGroups(asked.group ?? "day"),
    keyId: asked.key_id,
    model: asked.model,
    channel: asked.channel,
    userId: asked.user_id,
    limit: asked.limit,
    offset: asked.offset,
    isCsv: wantsCsv(context, asked.format),
  };
}

function readGroups(text: string): readonly UsageGroup[] {
  const names = text.split(",").map((name) => name.trim());
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
