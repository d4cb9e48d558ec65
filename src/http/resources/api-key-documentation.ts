import { z } from "@hono/zod-openapi";
import { BODY_ERRORS, KEY_ERRORS, KEY_SECURITY, refusal } from "../openapi/documentation.ts";
import type { RouteDefinition } from "../request/route.ts";
import { apiKeyQuerySchema, keyUsageQuerySchema } from "./api-key-queries.ts";
import {
  apiKeyChangeSchema,
  apiKeySchema,
  issuedApiKeySchema,
  newApiKeySchema,
  rotationSchema,
} from "./api-key-schema.ts";
import { keyUsageSchema } from "./key-usage-schema.ts";

const COLLECTION = "/v1/api-keys";
const ONE = `${COLLECTION}/{id}`;

const apiKeyList = z
  .object({
    object: z.literal("list"),
    data: z.array(apiKeySchema),
    total: z.number().int().openapi({ description: "How many there are on all pages." }),
  })
  .openapi("ApiKeyList");

const deletedApiKey = z
  .object({ id: z.string(), object: z.literal("api_key.deleted"), deleted: z.literal(true) })
  .openapi("DeletedApiKey", {
    example: { id: "key_3v9QmTq2LxZ8cR5nYb7KdW", object: "api_key.deleted", deleted: true },
  });

const common: Pick<RouteDefinition<"caller">, "access" | "tags" | "security"> = {
  access: "caller",
  tags: ["Keys"],
  security: KEY_SECURITY,
};
const id = { params: z.object({ id: z.string() }) };
const unknown = { 404: refusal("There is no such key, or it is not the caller's to see.") };
const forbidden = {
  403: refusal(
    "The key that calls is restricted and changes no key, or has less than it is to give; or the caller is no " +
      "administrator and asks for another's.",
  ),
};
const wrongQuery = { 400: refusal("A parameter is wrong; `param` names it.") };
const ipDenied = { 403: refusal("The key that calls may not be used from this address.") };

const json = <Schema extends z.ZodType>(schema: Schema) => ({ "application/json": { schema } });

/** What `/v1/api-keys` is, for the router and for clients. */
export const API_KEY_ROUTES = {
  create: {
    ...common,
    method: "post",
    path: COLLECTION,
    operationId: "createApiKey",
    summary: "Issue an API key",
    description:
      "The answer shows the secret, `key`, this once. An administrator manages all keys, a user the own. A key without " +
      "any limit, expiry, address list or assistant acts as its owner does, but gives no key a `max_level`, `passthrough` " +
      "or `tool_scope` beyond its own; a restricted one reads itself alone and changes no key.",
    request: { body: { required: true, content: json(newApiKeySchema) } },
    responses: {
      201: { description: "The key, with its secret.", content: json(issuedApiKeySchema) },
      404: refusal("`owner_id` names no user."),
      ...KEY_ERRORS,
      ...forbidden,
      ...BODY_ERRORS,
    },
  },
  list: {
    ...common,
    method: "get",
    path: COLLECTION,
    operationId: "listApiKeys",
    summary: "List the API keys",
    description: "Those that the caller may see, the newest first.",
    request: { query: apiKeyQuerySchema },
    responses: {
      200: { description: "A page of the keys.", content: json(apiKeyList) },
      ...KEY_ERRORS,
      ...wrongQuery,
      ...forbidden,
    },
  },
  find: {
    ...common,
    method: "get",
    path: ONE,
    operationId: "getApiKey",
    summary: "Show one API key",
    description: "Without its secret, which is shown once only.",
    request: id,
    responses: {
      200: { description: "The key.", content: json(apiKeySchema) },
      ...KEY_ERRORS,
      ...ipDenied,
      ...unknown,
    },
  },
  update: {
    ...common,
    method: "patch",
    path: ONE,
    operationId: "updateApiKey",
    summary: "Change an API key",
    description:
      "Fields that are not sent stay as they are; null lifts a limit. The change holds for the next call at this " +
      "replica, and within a second at all others.",
    request: { ...id, body: { required: true, content: json(apiKeyChangeSchema) } },
    responses: {
      200: { description: "The key as it is now.", content: json(apiKeySchema) },
      ...KEY_ERRORS,
      ...forbidden,
      ...unknown,
      ...BODY_ERRORS,
    },
  },
  delete: {
    ...common,
    method: "delete",
    path: ONE,
    operationId: "deleteApiKey",
    summary: "Delete an API key",
    description: "What it has used stays counted.",
    request: id,
    responses: {
      200: { description: "The key is gone.", content: json(deletedApiKey) },
      ...KEY_ERRORS,
      ...forbidden,
      ...unknown,
    },
  },
  rotate: {
    ...common,
    method: "post",
    path: `${ONE}/rotate`,
    operationId: "rotateApiKey",
    summary: "Give an API key a new secret",
    description:
      "The answer shows the new secret, `key`, this once. The replaced one goes on working for `overlap_seconds`, under " +
      "all that restricts the key; one that was replaced before it ends at once.",
    request: { ...id, body: { required: false, content: json(rotationSchema) } },
    responses: {
      200: { description: "The key, with its new secret.", content: json(issuedApiKeySchema) },
      ...KEY_ERRORS,
      ...forbidden,
      ...unknown,
      ...BODY_ERRORS,
    },
  },
  usage: {
    ...common,
    method: "get",
    path: `${ONE}/usage`,
    operationId: "getApiKeyUsage",
    summary: "Show what an API key has used",
    description:
      "For the caller's own keys alone, administrators too. A call is counted a moment after its end.",
    request: { ...id, query: keyUsageQuerySchema },
    responses: {
      200: { description: "Calls and tokens.", content: json(keyUsageSchema) },
      ...KEY_ERRORS,
      ...wrongQuery,
      ...ipDenied,
      ...unknown,
    },
  },
} satisfies Readonly<Record<string, RouteDefinition<"caller">>>;
