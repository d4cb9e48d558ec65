import type { IssuedApiKey } from "../../access/keys/api-key-record.ts";
import { findApiKey, requireKeyChanges } from "../../access/keys/api-key-record.ts";
import { deleteApiKey, rotateApiKey, updateApiKey } from "../../access/keys/change-api-key.ts";
import { issueApiKey } from "../../access/keys/issue-api-key.ts";
import { listApiKeys } from "../../access/keys/list-api-keys.ts";
import { readKeyUsage } from "../../access/keys/read-key-usage.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { secretResponse } from "../answers/secret-response.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";
import { API_KEY_ROUTES } from "./api-key-documentation.ts";
import { readApiKeyQuery, readDays } from "./api-key-queries.ts";
import {
  apiKeyChangeSchema,
  apiKeyFieldsOf,
  apiKeyJson,
  newApiKeySchema,
  rotationSchema,
} from "./api-key-schema.ts";
import { keyUsageJson } from "./key-usage-schema.ts";

/** `/v1/api-keys`: the API access keys. */
export function apiKeysRoutes(deps: Deps): Router {
  const { access, clock, limits } = deps;
  const router = createRouter(deps);
  router.add(API_KEY_ROUTES.create, async (context, caller) => {
    requireKeyChanges(caller);
    const { name, owner_id: ownerId, ...rest } = await readCheckedBody(context, newApiKeySchema);
    const fields = { ...apiKeyFieldsOf({ name, ...rest }, clock.now()), name };
    const issued = await issueApiKey(access, actorOf(context, caller), { fields, ownerId });
    return issuedResponse(issued, 201);
  });
  router.add(API_KEY_ROUTES.list, async (context, caller) => {
    const { keys, total } = await listApiKeys(access, caller, readApiKeyQuery(context));
    return jsonResponse({ object: "list", data: keys.map(apiKeyJson), total });
  });
  router.add(API_KEY_ROUTES.find, async (context, caller) =>
    jsonResponse(apiKeyJson(await findApiKey(access, caller, idOf(context)))),
  );
  router.add(API_KEY_ROUTES.update, async (context, caller) => {
    requireKeyChanges(caller);
    const body = await readCheckedBody(context, apiKeyChangeSchema);
    const change = { id: idOf(context), fields: apiKeyFieldsOf(body, clock.now()) };
    return jsonResponse(apiKeyJson(await updateApiKey(access, actorOf(context, caller), change)));
  });
  router.add(API_KEY_ROUTES.delete, async (context, caller) => {
    const id = idOf(context);
    await deleteApiKey(access, actorOf(context, caller), id);
    return jsonResponse({ id, object: "api_key.deleted", deleted: true });
  });
  router.add(API_KEY_ROUTES.rotate, async (context, caller) => {
    requireKeyChanges(caller);
    const { overlap_seconds: overlapSeconds = 0 } = hasBody(context)
      ? await readCheckedBody(context, rotationSchema)
      : {};
    const rotation = { id: idOf(context), overlapSeconds };
    return issuedResponse(await rotateApiKey(access, actorOf(context, caller), rotation), 200);
  });
  router.add(API_KEY_ROUTES.usage, async (context, caller) => {
    const id = idOf(context);
    const asked = { id, days: readDays(context) };
    const { database } = access;
    const usage = await readKeyUsage({ database, clock, limits }, caller, asked);
    return jsonResponse(keyUsageJson(id, usage));
  });
  return router;
}

function hasBody({ req }: RequestContext): boolean {
  return (req.header("content-length") ?? "0") !== "0" || req.header("transfer-encoding") != null;
}

function issuedResponse({ key, text }: IssuedApiKey, status: number): Response {
  return secretResponse({ ...apiKeyJson(key), key: text }, status);
}
