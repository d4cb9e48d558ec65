import { z } from "@hono/zod-openapi";
import { invalidValue } from "../codecs/shared/check-request.ts";
import { timeText } from "./fields.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A date from 1970 on, as moments are: the database reads no year 0. */
const dateText = z.iso
  .date("a date")
  .refine((text) => Date.parse(text) >= 0, "a date from 1970 on")
  .openapi({ description: "A date stands for its beginning in UTC." });

/** A moment as RFC 3339 writes it, or a date, which stands for its beginning in UTC. */
export const queryTime = z.union([timeText, dateText], {
  error: "a time as RFC 3339 writes it, or a date, from 1970 on",
});

/** From the first moment to the first that is no longer meant, in Unix milliseconds. */
interface Range {
  readonly from: number;
  readonly to: number;
}

interface RangeTexts {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * The range that `from` and `to` name. Throws `invalid_value` that names the parameter at fault for a range that is
 * empty, runs backwards or is too long.
 *
 * @param otherwise what stands for one that is not given.
 */
export function readRange(
  { from, to }: RangeTexts,
  otherwise: { readonly from: (to: number) => number; readonly to: number },
  maxDays = Number.POSITIVE_INFINITY,
): Range {
  const end = to === undefined ? otherwise.to : Date.parse(to);
  const start = from === undefined ? otherwise.from(end) : Date.parse(from);
  if (start >= end) {
    throw to === undefined
      ? invalidValue(["from"], "a time before now", from)
      : invalidValue(["to"], "a time after 'from'", to);
  }
  if (end - start > maxDays * DAY_MS) {
    throw invalidValue(["from"], `at most ${maxDays} days before 'to'`, from);
  }
  return { from: start, to: end };
}
