import { z } from "@hono/zod-openapi";
import { invalidValue, parseRequest } from "../codecs/shared/check-request.ts";
import { searchText } from "./fields.ts";
import type { RequestContext } from "./request/route.ts";

const MAX_LIMIT = 1_000;
const DEFAULT_LIMIT = 50;
const MAX_OFFSET = 1_000_000_000;
const NAME_SHOWN = 40;

/** How many entries a page has. */
export const limit = z.int().min(1).max(MAX_LIMIT);

/** A place in a list whose order may change, or that is short. */
export const byOffset = { offset: z.int().min(0).max(MAX_OFFSET).default(0) };

export const search = (description: string) => searchText(200).optional().openapi({ description });

/**
 * How every list is asked for: by its filters, and in pages of `limit` entries from a place on, an `offset` or what
 * `before` names. A parameter that does not exist is refused: a misspelt filter would show what nobody asked for.
 */
export function page<Filters extends z.ZodRawShape, Place extends z.ZodRawShape>(
  filters: Filters,
  place: Place,
) {
  return z.strictObject({ ...filters, limit: limit.default(DEFAULT_LIMIT), ...place });
}

/** A page that knows how many entries there are on all pages. */
export function countedList<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    total: z.int().openapi({ description: "How many there are on all pages." }),
  });
}

/** A page that knows whether it is the last. */
export function openList<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    has_more: z.boolean().openapi({ description: "There are further ones after this page." }),
  });
}

/**
 * The parameters of a query. One that is empty is not given. Throws `invalid_value` that names the parameter at fault,
 * also for one that comes twice, since one of two values would be ignored; and `unsupported_parameter` for one that
 * does not exist.
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
