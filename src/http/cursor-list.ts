import { z } from "@hono/zod-openapi";
import { queryId } from "./fields.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

/** Builds the query schema of a list with OpenAI's parameters. Unknown parameters are refused. */
export function cursorQuery<Filters extends z.ZodRawShape>(filters: Filters) {
  return z.strictObject({
    ...filters,
    limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT),
    order: z.enum(["asc", "desc"]).default("desc").openapi({ description: "By `created_at`." }),
    after: queryId.optional().openapi({ description: "The id of the entry before the page." }),
    before: queryId.optional().openapi({ description: "The id of the entry after the page." }),
  });
}

/** Builds the schema of a page of such a list. */
export function cursorList<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean().openapi({ description: "There are further ones after this page." }),
  });
}

/** Returns the record of a page, as `cursorList` shows it. */
export function listRecord<Item extends { readonly id: string }>({
  items,
  hasMore,
}: {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}) {
  const [first] = items;
  return { data: items, firstId: first?.id ?? null, lastId: items.at(-1)?.id ?? null, hasMore };
}
