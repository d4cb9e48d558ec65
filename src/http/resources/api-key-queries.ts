import { z } from "@hono/zod-openapi";
import type { ApiKeyQuery } from "../../access/keys/list-api-keys.ts";
import { checkRequest } from "../../codecs/shared/check-request.ts";
import { readListQuery } from "../queries/read-list-query.ts";
import type { RequestContext } from "../request/route.ts";
import { keyState } from "./key-fields.ts";
import { keyPageSchema } from "./key-page-schema.ts";

const DEFAULT_DAYS = 30;

const filterSchema = z.object({
  state: keyState.optional(),
  owner_id: z
    .string()
    .max(100)
    .regex(/^[^\0]*$/, "a text without NUL")
    .optional()
    .openapi({ description: "Whose keys, for administrators." }),
});

/** What part of the list of keys may be asked for. */
export const apiKeyQuerySchema = keyPageSchema.extend(filterSchema.shape);

/** How far back the use of a key may be asked for. */
export const keyUsageQuerySchema = z.object({
  days: z
    .int()
    .min(1)
    .max(400)
    .default(DEFAULT_DAYS)
    .openapi({ description: "Days of UTC that `by_day` and `by_model` cover, today included." }),
});

/** Throws `invalid_value` that names the parameter at fault. */
export function readApiKeyQuery(context: RequestContext): ApiKeyQuery {
  const query = new URL(context.req.url).searchParams;
  const filter = {
    state: query.get("state") || undefined,
    owner_id: query.get("owner_id") || undefined,
  };
  checkRequest(filterSchema, filter);
  return { ...readListQuery(context), state: filter.state, ownerId: filter.owner_id };
}

/** The days asked for. Throws `invalid_value`. */
export function readDays({ req }: RequestContext): number {
  const text = new URL(req.url).searchParams.get("days");
  const query = { days: text === null || text === "" ? DEFAULT_DAYS : Number(text) };
  checkRequest(keyUsageQuerySchema, query);
  return query.days;
}
