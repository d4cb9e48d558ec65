import { z } from "@hono/zod-openapi";
import type { AnyActor } from "../../access/actor.ts";
import {
  createBiKey,
  deleteBiKey,
  findBiKey,
  type IssuedBiKey,
  listBiKeys,
  rotateBiKey,
  updateBiKey,
} from "../../access/bi-keys/bi-keys.ts";
import { connectionTexts, type DataAddress } from "../../access/bi-keys/connection-texts.ts";
import { requireAdministrator } from "../../access/require-administrator.ts";
import type { AnyCaller } from "../../core/callers/caller.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { biKey, biKeyChange, issuedBiKey, newBiKey } from "../bi-key-fields.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { keySearch, refusePastExpiry } from "../key-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const biKeyList = countedList(biKey).openapi("BiKeyList");
const deletedBiKey = z
  .object({ id: z.string(), object: z.literal("bi_key.deleted"), deleted: z.literal(true) })
  .openapi("DeletedBiKey");
const biKeyQuery = page({ search: keySearch }, byOffset);

const COLLECTION = {
  path: "/v1/bi-keys",
  access: "caller",
  tokens: "keys",
  tag: "BI keys",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const errors = { 403: "The caller is no administrator, or the key is restricted." };
const errorsOfOne = { ...errors, 404: "There is no such BI key." };

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createBiKey",
  summary: "Issue a BI key",
  description:
    "BI keys read data and open nothing else: under `/v1/data`, and at the PostgreSQL port where it is enabled. The " +
    "answer shows the secret, `key`, this once, and texts with which clients connect. A key works while its owner is " +
    "an active administrator. Only administrators manage BI keys, by session or with an API key that nothing restricts.",
  body: newBiKey,
  answer: { status: 201, description: "The key, with its secret.", schema: issuedBiKey },
  errors,
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listBiKeys",
  summary: "List the BI keys",
  description: "The newest first.",
  query: biKeyQuery,
  answer: { description: "A page of the keys.", schema: biKeyList },
  errors: { ...errors, 400: "A parameter of the page is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getBiKey",
  summary: "Show one BI key",
  description: "Without its secret, which is shown once only.",
  answer: { description: "The key.", schema: biKey },
  errors: errorsOfOne,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateBiKey",
  summary: "Change a BI key",
  description:
    "Fields that are not sent stay as they are. Unless only the name changes, the key's open connections end within " +
    "two seconds; clients connect again with what is then allowed.",
  body: biKeyChange,
  answer: { description: "The key as it is now.", schema: biKey },
  errors: errorsOfOne,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteBiKey",
  summary: "Delete a BI key",
  description: "It opens nothing from then on, and its open connections end within two seconds.",
  answer: { description: "The key is gone.", schema: deletedBiKey },
  errors: errorsOfOne,
});
const ROTATE = resourceRoute({
  ...ONE,
  path: `${ONE.path}/rotate`,
  method: "post",
  operationId: "rotateBiKey",
  summary: "Give a BI key a new secret",
  description:
    "The old secret stops working at once, and open connections end within two seconds. The answer shows the new " +
    "one, `key`, this once, and texts with which clients connect.",
  answer: { description: "The key, with its new secret.", schema: issuedBiKey },
  errors: errorsOfOne,
});

/** What is known of the PostgreSQL port only once the server runs. */
export interface BiKeysOptions {
  /** Returns the port that is open; undefined while there is none. Default: the port of the settings. */
  readonly portOf?: () => number | undefined;
}

/** `/v1/bi-keys`: the keys that read data, for administrators. */
export function biKeysRoutes(
  deps: Deps,
  { portOf = () => deps.settings.BIKEY_PG_PROXY_PORT || undefined }: BiKeysOptions = {},
): Router {
  const { access, settings } = deps;
  const portState = (): Pick<DataAddress, "port" | "reason"> => {
    if (!settings.BIKEY_PG_PROXY_ENABLED) return { port: null, reason: NOT_ENABLED };
    const port = portOf();
    return port === undefined ? { port: null, reason: NOT_OPEN } : { port, reason: null };
  };
  const issuedResponse = (
    context: RequestContext,
    { key, text }: IssuedBiKey,
    status: number,
  ): Response => {
    const named = { name: key.name, secret: text };
    const texts = connectionTexts({ ...httpAddressOf(context), ...portState() }, named);
    return secretResponse(toJson(issuedBiKey, { ...key, key: text, connections: texts }), status);
  };
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const fields = toRecord(await readCheckedBody(context, newBiKey));
    refusePastExpiry(fields.expiresAt, access.clock.now());
    return issuedResponse(context, await createBiKey(access, actor, fields), 201);
  });
  router.add(LIST, async (context, caller) => {
    requireAdministrator(caller);
    const { keys, total } = await listBiKeys(access, readQuery(context, biKeyQuery));
    return jsonResponse(toJson(biKeyList, { data: keys, total }));
  });
  router.add(FIND, async (context, caller) => {
    requireAdministrator(caller);
    return jsonResponse(toJson(biKey, await findBiKey(access, idOf(context))));
  });
  router.add(UPDATE, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const fields = toRecord(await readCheckedBody(context, biKeyChange));
    refusePastExpiry(fields.expiresAt, access.clock.now());
    const change = { id: idOf(context), fields };
    return jsonResponse(toJson(biKey, await updateBiKey(access, actor, change)));
  });
  router.add(DELETE, async (context, caller) => {
    const id = idOf(context);
    await deleteBiKey(access, administratorOf(context, caller), id);
    return jsonResponse(toJson(deletedBiKey, { id }));
  });
  router.add(ROTATE, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const issued = await rotateBiKey(access, actor, idOf(context));
    return issuedResponse(context, issued, 200);
  });
  return router;
}

const NOT_ENABLED =
  "The PostgreSQL port is not enabled; the operator enables it with BIKEY_PG_PROXY_ENABLED=1.";
const NOT_OPEN = "The PostgreSQL port is not open now; `bi` of GET /api/ready says why.";

/** Checks the caller before any of the body is read. */
function administratorOf(context: RequestContext, caller: AnyCaller): AnyActor {
  requireAdministrator(caller);
  return actorOf(context, caller);
}

/** The client reaches this server under the host that it called, which the edge has checked. */
function httpAddressOf({ env, req }: RequestContext): Pick<DataAddress, "host" | "origin"> {
  const host = req.header("host") ?? new URL(req.url).host;
  const scheme = env.isHttps() ? "https" : "http";
  return { host: host.replace(/:\d+$/, ""), origin: `${scheme}://${host}` };
}
