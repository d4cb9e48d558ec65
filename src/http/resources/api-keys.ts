import { z } from "@hono/zod-openapi";
import {
  findApiKey,
  type IssuedApiKey,
  requireKeyChanges,
} from "../../access/keys/api-key-record.ts";
import { deleteApiKey, rotateApiKey, updateApiKey } from "../../access/keys/change-api-key.ts";
import { issueApiKey } from "../../access/keys/issue-api-key.ts";
import { listApiKeys } from "../../access/keys/list-api-keys.ts";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { hasBody, readCheckedBody } from "../bodies/read-checked-body.ts";
import { limit, searchText, time } from "../fields.ts";
import {
  keyExpiry,
  keyIpAllow,
  keyName,
  keySearch,
  keyState,
  printableName,
  refusePastExpiry,
} from "../key-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const MAX_SCOPE_NAMES = 256;

const scopeNames = z.array(printableName).max(MAX_SCOPE_NAMES).default([]);

const changeable = {
  name: keyName,
  state: keyState,
  assistant_id: z
    .string()
    .regex(/^asst_[A-Za-z0-9_-]{1,64}$/, "the id of an assistant, asst_ and its characters")
    .nullable()
    .openapi({
      description:
        "The one assistant that the key may call, and that answers it also without `model`; nothing else answers such a " +
        "key. The caller must be allowed to use it. Null binds the key to none.",
    }),
  passthrough: z.boolean().openapi({
    description:
      "The client's messages and tools reach the model unchanged, as coding agents need.",
  }),
  max_level: z
    .enum(["read_only", "write", "full_auto"])
    .openapi({ description: "What tools that are called with the key may do at most." }),
  tool_scope: z
    .strictObject({ tools: scopeNames, sql_connections: scopeNames })
    .readonly()
    .openapi({
      description:
        "Tools and saved connections that calls with the key may use of those that their assistant has: names, or patterns " +
        "with a trailing `*`. It is set as a whole. A new key has all, or what the key has that makes it; empty names none.",
    }),
  monthly_token_limit: limit("Input and output tokens in a calendar month of UTC."),
  request_limit: limit("Calls over the key's life."),
  rpm_limit: limit("Calls in any 60 seconds."),
  token_limit: limit("Input and output tokens over the key's life."),
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};

const { name, ...atWill } = changeable;

const newApiKey = z
  .strictObject({
    name,
    owner_id: searchText(100)
      .optional()
      .openapi({ description: "Whose it is to be, for administrators; unset is the caller." }),
    ...z.object(atWill).partial().shape,
  })
  .openapi("NewApiKey", {
    example: { name: "chat front end", monthly_token_limit: 5_000_000, rpm_limit: 60 },
  });

const apiKeyChange = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("ApiKeyChange", { example: { rpm_limit: 120, monthly_token_limit: null } });

const rotation = z
  .strictObject({
    overlap_seconds: z.int().min(0).max(2_592_000).optional().openapi({
      description:
        "How long the replaced secret goes on working, up to 30 days; 0, the default, ends it at once.",
    }),
  })
  .openapi("ApiKeyRotation", { example: { overlap_seconds: 3_600 } });

const EXAMPLE = {
  id: "key_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "api_key",
  name: "chat front end",
  prefix: "sk-",
  last_four: "q7Zf",
  owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  state: "active",
  assistant_id: null,
  passthrough: false,
  max_level: "read_only",
  tool_scope: { tools: ["*"], sql_connections: ["*"] },
  monthly_token_limit: 5_000_000,
  request_limit: null,
  rpm_limit: 60,
  token_limit: null,
  ip_allow: [],
  expires_at: null,
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

const apiKey = z
  .object({
    id: z.string(),
    object: z.literal("api_key"),
    name,
    prefix: z.literal("sk-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    owner_id: z.string(),
    ...atWill,
    created_at: time,
    last_used_at: time
      .nullable()
      .openapi({ description: "When a call was last let in with it, seconds late at most." }),
  })
  .openapi("ApiKey", { example: EXAMPLE });

const issuedApiKey = apiKey
  .extend({ key: z.string().openapi({ description: "The secret. It is shown this once." }) })
  .openapi("IssuedApiKey", {
    example: { ...EXAMPLE, key: `sk-${"x".repeat(39)}${EXAMPLE.last_four}` },
  });

const apiKeyList = countedList(apiKey).openapi("ApiKeyList");

const deletedApiKey = z
  .object({ id: z.string(), object: z.literal("api_key.deleted"), deleted: z.literal(true) })
  .openapi("DeletedApiKey", {
    example: { id: "key_3v9QmTq2LxZ8cR5nYb7KdW", object: "api_key.deleted", deleted: true },
  });

const apiKeyQuery = page(
  {
    search: keySearch,
    state: keyState.optional(),
    owner_id: searchText(100)
      .optional()
      .openapi({ description: "Whose keys, for administrators." }),
    assistant_id: searchText(100)
      .optional()
      .openapi({ description: "Only keys that are bound to this assistant." }),
  },
  byOffset,
);

const COLLECTION = { path: "/v1/api-keys", access: "caller", tokens: "keys", tag: "Keys" } as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "There is no such key, or it is not the caller's to see." };
const forbidden = {
  403:
    "The key that calls is restricted and changes no key, or has less than it is to give; or the caller is no " +
    "administrator and asks for another's.",
};

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createApiKey",
  summary: "Issue an API key",
  description:
    "The answer shows the secret, `key`, this once. An administrator manages all keys, a user their own. A key without " +
    "any limit, expiry, address list or assistant acts as its owner does, but gives no key a `max_level`, `passthrough` " +
    "or `tool_scope` beyond its own; a restricted one reads only itself and changes no key.",
  body: newApiKey,
  answer: { status: 201, description: "The key, with its secret.", schema: issuedApiKey },
  errors: { ...forbidden, 404: "`owner_id` or `assistant_id` names none for the caller." },
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listApiKeys",
  summary: "List the API keys",
  description: "Those that the caller may see, the newest first.",
  query: apiKeyQuery,
  answer: { description: "A page of the keys.", schema: apiKeyList },
  errors: { ...forbidden, 400: "A parameter is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getApiKey",
  summary: "Show one API key",
  description: "Without its secret, which is shown once only.",
  answer: { description: "The key.", schema: apiKey },
  errors: { ...unknown, 403: "The key that calls may not be used from this address." },
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateApiKey",
  summary: "Change an API key",
  description:
    "Fields that are not sent stay as they are; null lifts a limit. The change holds for the next call at this " +
    "replica, and within a second at all others.",
  body: apiKeyChange,
  answer: { description: "The key as it is now.", schema: apiKey },
  errors: { ...forbidden, ...unknown },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteApiKey",
  summary: "Delete an API key",
  description: "What it has used stays counted.",
  answer: { description: "The key is gone.", schema: deletedApiKey },
  errors: { ...forbidden, ...unknown },
});
const ROTATE = resourceRoute({
  ...ONE,
  path: `${ONE.path}/rotate`,
  method: "post",
  operationId: "rotateApiKey",
  summary: "Give an API key a new secret",
  description:
    "The answer shows the new secret, `key`, this once. The replaced one goes on working for `overlap_seconds`, under " +
    "all that restricts the key; one that was replaced before it ends at once.",
  body: rotation,
  hasOptionalBody: true,
  answer: { description: "The key, with its new secret.", schema: issuedApiKey },
  errors: { ...forbidden, ...unknown },
});

/** `/v1/api-keys`: the API access keys. */
export function apiKeysRoutes(deps: Deps): Router {
  const { access, clock } = deps;
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    requireKeyChanges(caller);
    const { ownerId, ...fields } = toRecord(await readCheckedBody(context, newApiKey));
    refusePastExpiry(fields.expiresAt, clock.now());
    const issued = await issueApiKey(access, actorOf(context, caller), { fields, ownerId });
    return issuedResponse(issued, 201);
  });
  router.add(LIST, async (context, caller) => {
    const query = toRecord(readQuery(context, apiKeyQuery));
    const { keys, total } = await listApiKeys(access, caller, query);
    return jsonResponse(toJson(apiKeyList, { data: keys, total }));
  });
  router.add(FIND, async (context, caller) =>
    jsonResponse(toJson(apiKey, await findApiKey(access, caller, idOf(context)))),
  );
  router.add(UPDATE, async (context, caller) => {
    requireKeyChanges(caller);
    const fields = toRecord(await readCheckedBody(context, apiKeyChange));
    if (Object.keys(fields).length === 0) throw invalidValue([], "a field to change", fields);
    refusePastExpiry(fields.expiresAt, clock.now());
    const change = { id: idOf(context), fields };
    const changed = await updateApiKey(access, actorOf(context, caller), change);
    return jsonResponse(toJson(apiKey, changed));
  });
  router.add(DELETE, async (context, caller) => {
    const id = idOf(context);
    await deleteApiKey(access, actorOf(context, caller), id);
    return jsonResponse(toJson(deletedApiKey, { id }));
  });
  router.add(ROTATE, async (context, caller) => {
    requireKeyChanges(caller);
    const { overlap_seconds: overlapSeconds = 0 } = hasBody(context)
      ? await readCheckedBody(context, rotation)
      : {};
    const asked = { id: idOf(context), overlapSeconds };
    return issuedResponse(await rotateApiKey(access, actorOf(context, caller), asked), 200);
  });
  return router;
}

function issuedResponse({ key, text }: IssuedApiKey, status: number): Response {
  return secretResponse(toJson(issuedApiKey, { ...key, key: text }), status);
}
