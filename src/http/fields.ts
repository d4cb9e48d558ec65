import { z } from "@hono/zod-openapi";

/** Fields that resources share: as clients send them, as queries name them, and as answers show them. */

/** The last millisecond of a year with four digits; the database reads no later years from a text. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

/** A time from 1970 on, in RFC 3339. */
export const timeText = z.iso
  .datetime({ offset: true, error: "a time as RFC 3339 writes it" })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= MAX_TIME, "a time after 1970");

/** The same time, decoded to a date. */
export const givenTime = z.codec(timeText, z.date(), {
  decode: (text) => new Date(text),
  encode: (time) => time.toISOString(),
});

const shownText = z.string().openapi({ format: "date-time" });

/** A time of a record, as answers show it. */
export const time = z.codec(shownText, z.date(), {
  decode: (text) => new Date(text),
  encode: (moment) => moment.toISOString(),
});

/** A time that a record has in Unix milliseconds, as answers show it. */
export const unixTime = z.codec(shownText, z.number(), {
  decode: (text) => Date.parse(text),
  encode: (milliseconds) => new Date(milliseconds).toISOString(),
});

export const count = z.int().min(0);

/** A text that the database can search for. */
export const searchText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[^\0]*$/, "a text without NUL");

/** An id in a query. */
export const queryId = z.string().regex(/^[\x21-\x7e]{1,200}$/, "an id");

const PASSWORD = /^[^\0]{8,256}$/;

/** A new password. */
export const newPassword = z
  .string()
  .regex(PASSWORD, "8 to 256 characters without NUL")
  .openapi({ format: "password" });

export const role = z.enum(["admin", "user"]);
