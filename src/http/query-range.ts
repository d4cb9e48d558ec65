import { z } from "@hono/zod-openapi";
import { invalidValue } from "../codecs/shared/check-request.ts";
import { timeText } from "./fields.ts";

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A date from 1970 on, like times, because the database reads no year 0. */
const dateText = z.iso
  .date("a date")
  .refine((text) => Date.parse(text) >= 0, "a date from 1970 on")
  .openapi({ description: "A date stands for its beginning in UTC." });

/** A time in RFC 3339, or a date, which stands for its beginning in UTC. */
export const queryTime = z.union([timeText, dateText], {
  error: "a time as RFC 3339 writes it, or a date, from 1970 on",
});

/** A half-open range, `to` excluded, in Unix milliseconds. */
interface Range {
  readonly from: number;
  readonly to: number;
}

interface RangeTexts {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * Returns the range of `from` and `to`. Throws `invalid_value` that names the invalid parameter when the range is
 * empty, runs backwards or is too long.
 *
 * @param otherwise has the defaults of absent parameters.
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
