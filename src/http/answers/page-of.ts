import { z } from "@hono/zod-openapi";
import { checkRequest, invalidValue } from "../../codecs/shared/check-request.ts";

const MAX_LIMIT = 1_000;

const limit = z.coerce.number().int().min(1).max(MAX_LIMIT).optional();
const cursor = (what: string) => z.string().optional().openapi({ description: what });

/** The query parameters of a paged list, in the names of both families. Without `limit` the list is one page. */
export const pageSchema = z.object({
  limit: limit.openapi({ description: `Entries of a page, 1 to ${MAX_LIMIT}; unset is all.` }),
  after_id: cursor("The id before the page."),
  after: cursor("The same as `after_id`."),
  before_id: cursor("The id behind the page."),
});

export interface Page<Item> {
  readonly items: readonly Item[];
  /** True when there are further entries in the requested direction. */
  readonly hasMore: boolean;
}

/** Returns the page that a query requests. Throws `invalid_value` that names the invalid parameter. */
export function pageOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  query: URLSearchParams,
): Page<Item> {
  const asked = readQuery(query);
  const size = asked.limit ?? items.length;
  const end = asked.before_id === undefined ? items.length : placeOf(items, asked, "before_id");
  if (asked.before_id !== undefined) {
    const start = Math.max(0, end - size);
    return { items: items.slice(start, end), hasMore: start > 0 };
  }
  const name = asked.after_id === undefined ? "after" : "after_id";
  const start = asked[name] === undefined ? 0 : placeOf(items, asked, name) + 1;
  return { items: items.slice(start, start + size), hasMore: start + size < items.length };
}

type Query = z.output<typeof pageSchema>;
type Cursor = "after_id" | "after" | "before_id";

function readQuery(query: URLSearchParams): Query {
  const text = query.get("limit");
  const value = {
    limit: text === null || text === "" ? undefined : Number(text),
    after_id: query.get("after_id") ?? undefined,
    after: query.get("after") ?? undefined,
    before_id: query.get("before_id") ?? undefined,
  };
  checkRequest(pageSchema, value);
  if (value.before_id !== undefined && (value.after_id ?? value.after) !== undefined) {
    throw invalidValue(["before_id"], "no other cursor beside it", value.before_id);
  }
  return value;
}

function placeOf(items: readonly { readonly id: string }[], query: Query, name: Cursor): number {
  const place = items.findIndex(({ id }) => id === query[name]);
  if (place >= 0) return place;
  throw invalidValue([name], "the id of a listed entry", query[name]);
}
