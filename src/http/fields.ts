import { z } from "@hono/zod-openapi";
import { isStorableText } from "../lib/text/storable-text.ts";

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

/**
 * A schema with a name of its own, or null. `nullable()` would make null a part of the named schema in the documents, and
 * so of every other field that refers to it.
 */
export const orNull = <Schema extends z.ZodType>(schema: Schema) => z.union([schema, z.null()]);

/** A limit of a key or a user. */
export const limit = (what: string) =>
  z
    .int()
    .min(0)
    .nullable()
    .openapi({ description: `${what} 0 refuses every metered call, null is unlimited.` });

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

/** A time of a record, in whole Unix seconds, as the objects of OpenAI's API show it. */
export const unixSeconds = z.codec(
  z.int().openapi({ description: "Unix seconds.", example: 1_790_000_000 }),
  z.date(),
  {
    decode: (seconds) => new Date(seconds * 1_000),
    encode: (moment) => Math.floor(moment.getTime() / 1_000),
  },
);

export const count = z.int().min(0);

/** A text that the database can search for. */
export const searchText = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .regex(/^[^\0]*$/, "a text without NUL");

/** A text that the database can store, also within JSON. */
export const storableText = (maxLength: number) =>
  z.string().max(maxLength).refine(isStorableText, "a text without NUL and lone surrogates");

const MAX_PAIRS = 16;

/** OpenAI's pairs of a name and a value that clients attach to objects. */
export const pairs = <Value extends z.ZodType>(value: Value) =>
  z
    .record(storableText(64), value)
    .refine((given) => Object.keys(given).length <= MAX_PAIRS, `at most ${MAX_PAIRS} pairs`);

export const metadata = pairs(storableText(512)).openapi({
  description: "Up to 16 pairs: names of up to 64 characters, texts of up to 512.",
  example: { team: "support" },
});

/** An id in a query. */
export const queryId = z.string().regex(/^[\x21-\x7e]{1,200}$/, "an id");

const PASSWORD = /^[^\0]{8,256}$/;

/** A new password. */
export const newPassword = z
  .string()
  .regex(PASSWORD, "8 to 256 characters without NUL")
  .openapi({ format: "password" });

export const role = z.enum(["admin", "user"]);
