import { z } from "@hono/zod-openapi";
import { invalidValue, parseRequest } from "../codecs/shared/check-request.ts";
import { searchText } from "./fields.ts";
import type { RequestContext } from "./request/routes/route.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_OFFSET = 1_000_000_000;
const NAME_SHOWN = 40;

/** The number of entries of a page. */
export const limit = z.int().min(1).max(MAX_LIMIT);

/** The position in a list that is short or whose order may change. */
export const byOffset = { offset: z.int().min(0).max(MAX_OFFSET).default(0) };

export const search = (description: string) => searchText(200).optional().openapi({ description });

/**
 * Builds the query schema of a list: its filters, and pages of `limit` entries from an `offset` or from the place in
 * `before`. Unknown parameters are refused, because a misspelled filter would show unwanted entries.
 */
export function page<Filters extends z.ZodRawShape, Place extends z.ZodRawShape>(
  filters: Filters,
  place: Place,
) {
  return z.strictObject({ ...filters, limit: limit.default(DEFAULT_LIMIT), ...place });
}

/** Builds the schema of a page that reports the number of entries on all pages. */
export function countedList<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    total: z.int().openapi({ description: "How many there are on all pages." }),
  });
}

/** Builds the schema of a page that reports whether further entries follow. */
export function openList<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    has_more: z.boolean().openapi({ description: "There are further ones after this page." }),
  });
}

/**
 * Returns the parameters of a query. An empty parameter counts as absent. Throws `invalid_value` that names the invalid
 * parameter. It also throws that for a repeated parameter, since one of the two values would be ignored. Throws
 * `unsupported_parameter` for an unknown one.
 */
export function readQuery<Schema extends z.ZodObject>(
  { req }: Pick<RequestContext, "req">,
  schema: Schema,
): z.output<Schema> {
  const given: Record<string, unknown> = Object.create(null);
  for (const [name, text] of new URL(req.url).searchParams) {
    if (name in given) throw invalidValue([name.slice(0, NAME_SHOWN)], "one value", text);
    if (text !== "") given[name] = isNumber(schema.shape[name]) ? Number(text) : text;
  }
  return parseRequest(schema, { ...given });
}

function isNumber(field: z.core.$ZodType | undefined): boolean {
  if (field instanceof z.ZodOptional || field instanceof z.ZodDefault) {
    return isNumber(field.unwrap());
  }
  return field instanceof z.ZodNumber;
}
