import { z } from "zod";
import { CHANNELS } from "../../core/channel.ts";

/** Fields of queries about usage. */
export const queryId = z.string().regex(/^[\x21-\x7e]{1,200}$/, "an id");

export const queryModel = z
  .string()
  .max(200)
  .regex(/^[^\0]*$/, "a text without NUL");

export const queryChannel = z.enum(CHANNELS);

/** How the answer is written. */
export const queryFormat = z.enum(["json", "csv"]);
