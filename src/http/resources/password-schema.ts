import { z } from "zod";

const PASSWORD = /^[^\0]{8,256}$/;

/** A password to be set. */
export const passwordSchema = z.string().regex(PASSWORD, "8 to 256 characters without NUL");
