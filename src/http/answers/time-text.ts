import { z } from "@hono/zod-openapi";

/** The last millisecond of a year of four digits: the database reads no others from a text. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

/** A moment from 1970 on, as RFC 3339 writes it. */
export const timeText = z.iso
  .datetime({ offset: true, error: "a time as RFC 3339 writes it" })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= MAX_TIME, "a time after 1970");
