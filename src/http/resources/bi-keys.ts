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
import { requireAdministrator } from "../../access/require-administrator.ts";
import type { AnyCaller } from "../../core/caller.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { time } from "../fields.ts";
import {
  keyExpiry,
  keyIpAllow,
  keyName,
  keySearch,
  keyState,
  refusePastExpiry,
} from "../key-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/route.ts";
import { createRouter, type Router } from "../request/router.ts";

const DATASET = /^[a-z][a-z0-9_]{0,62}$/;
const MAX_DATASETS = 100;

const changeable = {
  name: keyName,
  state: keyState,
  datasets: z
    .array(
      z.string().regex(DATASET, "a name of a-z, 0-9 and _, a letter first, up to 63 characters"),
    )
    .max(MAX_DATASETS)
    .refine((names) => new Set(names).size === names.length, "each name once")
    .openapi({
      description: "Names of the datasets that it may read; empty reads none.",
      example: ["orders", "customers"],
    }),
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};

const newBiKey = z
  .strictObject({
    name: changeable.name,
    datasets: changeable.datasets.default([]),
    ip_allow: changeable.ip_allow.default([]),
    expires_at: changeable.expires_at.default(null),
  })
  .openapi("NewBiKey", { example: { name: "monthly report", datasets: ["orders"] } });

const biKeyChange = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("BiKeyChange", { example: { datasets: ["orders", "customers"] } });

const EXAMPLE = {
  id: "bik_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "bi_key",
  name: "monthly report",
  state: "active",
  datasets: ["orders"],
  ip_allow: [],
  expires_at: null,
  prefix: "bk-",
  last_four: "q7Zf",
  owner_id: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

const biKey = z
  .object({
    id: z.string(),
    object: z.literal("bi_key"),
    ...changeable,
    prefix: z.literal("bk-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    owner_id: z.string(),
    created_at: time,
    last_used_at: time.nullable(),
  })
  .openapi("BiKey", { example: EXAMPLE });

const issuedBiKey = biKey
  .extend({ key: z.string().openapi({ description: "The secret. It is shown this once." }) })
  .openapi("IssuedBiKey", {
    example: { ...EXAMPLE, key: `bk-${"x".repeat(39)}${EXAMPLE.last_four}` },
  });

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
    "BI keys read data and open nothing else. The answer shows the secret, `key`, this once. Only administrators " +
    "manage BI keys, by session or with an API key that nothing restricts.",
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
  description: "Fields that are not sent stay as they are.",
  body: biKeyChange,
  answer: { description: "The key as it is now.", schema: biKey },
  errors: errorsOfOne,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteBiKey",
  summary: "Delete a BI key",
  description: "It opens nothing from then on.",
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
    "The old secret stops working at once. The answer shows the new one, `key`, this once.",
  answer: { description: "The key, with its new secret.", schema: issuedBiKey },
  errors: errorsOfOne,
});

/** `/v1/bi-keys`: the keys that read data, for administrators. */
export function biKeysRoutes(deps: Deps): Router {
  const { access } = deps;
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    const actor = administratorOf(context, caller);
    const fields = toRecord(await readCheckedBody(context, newBiKey));
    refusePastExpiry(fields.expiresAt, access.clock.now());
    return issuedResponse(await createBiKey(access, actor, fields), 201);
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
    return issuedResponse(issued, 200);
  });
  return router;
}

/** Checks the caller before any of the body is read. */
function administratorOf(context: RequestContext, caller: AnyCaller): AnyActor {
  requireAdministrator(caller);
  return actorOf(context, caller);
}

function issuedResponse({ key, text }: IssuedBiKey, status: number): Response {
  return secretResponse(toJson(issuedBiKey, { ...key, key: text }), status);
}
