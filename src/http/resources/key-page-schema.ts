import { z } from "@hono/zod-openapi";

/** How a list of keys of any kind is asked for in pages; `readListQuery` reads it. */
export const keyPageSchema = z.object({
  search: z.string().max(200).optional().openapi({
    description: "A part of the name, a whole id, or the last four characters of the secret.",
  }),
  limit: z.number().int().min(1).max(1_000).default(50),
  offset: z.number().int().min(0).max(1_000_000_000).default(0),
});
