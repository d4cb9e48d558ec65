import { z } from "zod";
import { checkRequest } from "../../codecs/shared/check-request.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import type { RequestContext } from "../request/route.ts";
import { queryTime, readRange } from "./query-range.ts";
import { queryTexts } from "./query-texts.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;
/** A month, hour by hour, is what one call may be asked for. */
const MAX_DAYS = 31;

interface Range {
  readonly from: number;
  readonly to: number;
}

const rangeSchema = z.strictObject({ from: queryTime.optional(), to: queryTime.optional() });
const givenRangeSchema = z.strictObject({ from: queryTime, to: queryTime });

/** The range to compare, in Unix milliseconds: unless given, the last day of UTC that is over. */
export function readComparedRange(context: RequestContext, now: number): Range {
  const asked: unknown = queryTexts(context);
  checkRequest(rangeSchema, asked);
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  return readRange(asked, { from: (to) => to - DAY_MS, to: today }, MAX_DAYS);
}

/** The range to repair, from the body: nothing is changed that was not named. */
export async function readRepairedRange(context: RequestContext): Promise<Range> {
  const asked = await readCheckedBody(context, givenRangeSchema);
  return readRange(asked, { from: (to) => to, to: 0 }, MAX_DAYS);
}
