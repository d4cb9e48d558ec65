import { z } from "zod";
import { checkRequest } from "../../codecs/shared/check-request.ts";
import type { RequestContext } from "../request/route.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_OFFSET = 1_000_000_000;

const listQuery = z.object({
  search: z
    .string()
    .max(200)
    .regex(/^[^\0]*$/, "a text without NUL")
    .optional(),
  limit: z.int().min(1).max(MAX_LIMIT),
  offset: z.int().min(0).max(MAX_OFFSET),
});

/** What part of a list is asked for. */
export type ListQuery = z.infer<typeof listQuery>;

/** Reads `search`, `limit` (1 to 1000, 50 unless given) and `offset`. Throws `invalid_value` that names the one at fault. */
export function readListQuery({ req }: RequestContext): ListQuery {
  const query = new URL(req.url).searchParams;
  const numberOr = (name: string, otherwise: number) => {
    const text = query.get(name);
    return text === null || text === "" ? otherwise : Number(text);
  };
  const asked = {
    search: query.get("search") || undefined,
    limit: numberOr("limit", DEFAULT_LIMIT),
    offset: numberOr("offset", 0),
  };
  checkRequest(listQuery, asked);
  return asked;
}
