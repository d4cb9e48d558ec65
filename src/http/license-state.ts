import { z } from "@hono/zod-openapi";

/** The state of the license, as health and the console show it. */
export const licenseState = z
  .object({
    valid: z.boolean(),
    in_grace: z.boolean(),
    expires_at: z.string().nullable(),
    days_left: z.number().int().nullable(),
    warning: z.string().nullable(),
  })
  .openapi("License");
