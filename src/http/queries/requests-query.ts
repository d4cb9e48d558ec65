import { z } from "zod";
import { checkRequest, invalidValue } from "../../codecs/shared/check-request.ts";
import { decodeBase64Text, encodeBase64Text } from "../../lib/base64-text.ts";
import type { RequestPlace, RequestQuery } from "../../usage/reports/list-requests.ts";
import { wantsCsv } from "../answers/table-response.ts";
import type { RequestContext } from "../request/route.ts";
import { queryChannel, queryFormat, queryId, queryModel } from "./query-fields.ts";
import { queryTime, readRange } from "./query-range.ts";
import { queryTexts } from "./query-texts.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;

const querySchema = z.strictObject({
  from: queryTime.optional(),
  to: queryTime.optional(),
  request_id: queryId.optional(),
  key_id: queryId.optional(),
  user_id: queryId.optional(),
  model: queryModel.optional(),
  channel: queryChannel.optional(),
  outcome: z.enum(["ok", "error", "aborted", "rate_limited"]).optional(),
  status: z.int().min(100).max(599).optional(),
  before: z.string().max(400).optional(),
  format: queryFormat.optional(),
  limit: z.int().min(1).max(MAX_LIMIT).optional(),
});

export interface RequestsRequest extends RequestQuery {
  readonly isCsv: boolean;
}

/**
 * Reads which requests are asked for. Throws `invalid_value` that names the parameter at fault, and
 * `unsupported_parameter` for one that does not exist.
 *
 * @param now Unix milliseconds.
 */
export function readRequestsQuery(context: RequestContext, now: number): RequestsRequest {
  const { limit, status, ...texts } = queryTexts(context);
  const asked: unknown = {
    ...texts,
    limit: numberOf(limit),
    status: numberOf(status),
  };
  checkRequest(querySchema, asked);
  const { from, to, before } = asked;
  const range = readRange(asked, { from: () => 0, to: now + 1 });
  const isCsv = wantsCsv(context, asked.format);
  return {
    requestId: asked.request_id,
    keyId: asked.key_id,
    userId: asked.user_id,
    model: asked.model,
    channel: asked.channel,
    outcome: asked.outcome,
    status: asked.status,
    from: from === undefined ? undefined : range.from,
    to: to === undefined ? undefined : range.to,
    before: before === undefined ? undefined : placeOf(before),
    limit: asked.limit ?? (isCsv ? MAX_LIMIT : DEFAULT_LIMIT),
    isCsv,
  };
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text);
}

/** A place in the list as clients carry it about. */
export function placeText({ startedAt, id }: RequestPlace): string {
  return encodeBase64Text(`${startedAt} ${id}`);
}

const PLACE = /^(\d{1,15}) ([\x21-\x7e]{0,200})$/;
/** The last millisecond of a year of four digits. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

function placeOf(text: string): RequestPlace {
  const [, startedAt, id] = PLACE.exec(decodeBase64Text(text) ?? "") ?? [];
  if (id === undefined || Number(startedAt) > MAX_TIME) {
    throw invalidValue(["before"], "what an earlier answer gave as 'next'", text);
  }
  return { startedAt: Number(startedAt), id };
}
