import { z } from "@hono/zod-openapi";

/** Fields that resources share: as clients send them, as queries name them, and as answers show them. */

/** The last millisecond of a year of four digits: the database reads no others from a text. */
const MAX_TIME = Date.UTC(10_000, 0) - 1;

/** A moment from 1970 on, as RFC 3339 writes it. */
export const timeText = z.iso
  .datetime({ offset: true, error: "a time as RFC 3339 writes it" })
  .refine((text) => Date.parse(text) >= 0 && Date.parse(text) <= MAX_TIME, "a time after 1970");

/** The same, read as a date. */
export const givenTime = z.codec(timeText, z.date(), {
  decode: (text) => new Date(text),
  encode: (time) => time.toISOString(),
});

const shownText = z.string().openapi({ format: "date-time" });

/** A moment of a record, as it is shown. */
export const time = z.codec(shownText, z.date(), {
  decode: (text) => new Date(text),
  encode: (moment) => moment.toISOString(),
});

/** A moment that a record has in Unix milliseconds, as it is shown. */
export const unixTime = z.codec(shownText, z.number(), {
  decode: (text) => Date.parse(text),
  encode: (milliseconds) => new Date(milliseconds).toISOString(),
});

export const count = z.int().min(0);

/** A text that the database can look for. */
export const searchText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[^\0]*$/, "a text without NUL");

/** The id of something, in a query. */
export const queryId = z.string().regex(/^[\x21-\x7e]{1,200}$/, "an id");

const PASSWORD = /^[^\0]{8,256}$/;

/** A password to be set. */
export const newPassword = z
  .string()
  .regex(PASSWORD, "8 to 256 characters without NUL")
  .openapi({ format: "password" });

export const role = z.enum(["admin", "user"]);
