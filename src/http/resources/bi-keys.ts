import type { Actor } from "../../access/actor.ts";
import type { IssuedBiKey } from "../../access/bi-keys/bi-keys.ts";
import {
  createBiKey,
  deleteBiKey,
  findBiKey,
  listBiKeys,
  rotateBiKey,
  updateBiKey,
} from "../../access/bi-keys/bi-keys.ts";
import { requireAdministrator } from "../../access/require-administrator.ts";
import type { Caller } from "../../core/caller.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { secretResponse } from "../answers/secret-response.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { readListQuery } from "../queries/read-list-query.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";
import { BI_KEY_ROUTES } from "./bi-key-documentation.ts";
import { biKeyChangeSchema, biKeyFieldsOf, biKeyJson, newBiKeySchema } from "./bi-key-schema.ts";
import { expiryOf } from "./key-fields.ts";

/** `/v1/bi-keys`: the keys that read data, for administrators. */
export function biKeysRoutes(deps: Deps): Router {
  const { access } = deps;
  const router = createRouter(deps);
  router.add(BI_KEY_ROUTES.create, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const body = await readCheckedBody(context, newBiKeySchema);
    const { name, datasets = [], ip_allow: ipAllow = [], expires_at: expiresAt = null } = body;
    const fields = { name, datasets, ipAllow, expiresAt: expiryOf(expiresAt, access.clock.now()) };
    return issuedResponse(await createBiKey(access, actor, fields), 201);
  });
  router.add(BI_KEY_ROUTES.list, async (context, caller) => {
    requireAdministrator(caller);
    const { keys, total } = await listBiKeys(access, readListQuery(context));
    return jsonResponse({ object: "list", data: keys.map(biKeyJson), total });
  });
  router.add(BI_KEY_ROUTES.find, async (context, caller) => {
    requireAdministrator(caller);
    return jsonResponse(biKeyJson(await findBiKey(access, idOf(context))));
  });
  router.add(BI_KEY_ROUTES.update, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const body = await readCheckedBody(context, biKeyChangeSchema);
    const change = { id: idOf(context), fields: biKeyFieldsOf(body, access.clock.now()) };
    return jsonResponse(biKeyJson(await updateBiKey(access, actor, change)));
  });
  router.add(BI_KEY_ROUTES.delete, async (context, caller) => {
    const id = idOf(context);
    await deleteBiKey(access, administratorOf(context, caller), id);
    return jsonResponse({ id, object: "bi_key.deleted", deleted: true });
  });
  router.add(BI_KEY_ROUTES.rotate, async (context, caller) => {
    const actor = administratorOf(context, caller);
    return issuedResponse(await rotateBiKey(access, actor, idOf(context)), 200);
  });
  return router;
}

/** Before anything of the body is read. */
function administratorOf(context: RequestContext, caller: Caller): Actor {
  requireAdministrator(caller);
  return actorOf(context, caller);
}

function issuedResponse({ key, text }: IssuedBiKey, status: number): Response {
  return secretResponse({ ...biKeyJson(key), key: text }, status);
}
