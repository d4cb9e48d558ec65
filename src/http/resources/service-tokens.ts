import { z } from "@hono/zod-openapi";
import {
  createServiceToken,
  deleteServiceToken,
  findServiceToken,
  type IssuedServiceToken,
  listServiceTokens,
  rotateServiceToken,
  type ServiceToken,
  updateServiceToken,
} from "../../access/service-tokens/service-tokens.ts";
import { SERVICE_SCOPES } from "../../core/callers/service-scope.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { time } from "../fields.ts";
import { keyExpiry, keyIpAllow, keyName, keySearch, refusePastExpiry } from "../key-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const scope = z.enum(SERVICE_SCOPES);
const changeable = {
  name: keyName,
  scopes: z
    .array(scope)
    .min(1)
    .max(SERVICE_SCOPES.length)
    .refine((scopes) => new Set(scopes).size === scopes.length, "each scope once")
    .openapi({
      description:
        "What it may do: read or change a kind of resource. Writing does not include reading.",
      example: ["usage:read", "keys:write"],
    }),
  ip_allow: keyIpAllow,
  expires_at: keyExpiry,
};

const newServiceToken = z
  .strictObject({
    ...changeable,
    ip_allow: changeable.ip_allow.default([]),
    expires_at: changeable.expires_at.default(null),
  })
  .openapi("NewServiceToken", { example: { name: "billing", scopes: ["usage:read"] } });

const serviceTokenChange = z
  .strictObject(z.object(changeable).partial().shape)
  .openapi("ServiceTokenChange", { example: { scopes: ["usage:read", "audit:read"] } });

const EXAMPLE = {
  id: "svt_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "service_token",
  name: "billing",
  scopes: ["usage:read"],
  ip_allow: [],
  expires_at: null,
  prefix: "sv-",
  last_four: "q7Zf",
  created_by: "usr_7hB2kXw9PfM4sVt6JcN1Ra",
  created_at: "2026-09-21T13:33:20.000Z",
  last_used_at: null,
};

const serviceToken = z
  .object({
    id: z.string(),
    object: z.literal("service_token"),
    name: keyName,
    // A later release may have given it others.
    scopes: z.array(z.string()),
    ip_allow: keyIpAllow,
    expires_at: keyExpiry,
    prefix: z.literal("sv-"),
    last_four: z.string().openapi({ description: "The end of its secret." }),
    created_by: z.string().openapi({
      description: "It works while this user is an active administrator.",
    }),
    created_at: time,
    last_used_at: time.nullable().openapi({ description: "Written every half minute." }),
  })
  .openapi("ServiceToken", { example: EXAMPLE });

const issuedServiceToken = serviceToken
  .extend({ token: z.string().openapi({ description: "The secret. It is shown this once." }) })
  .openapi("IssuedServiceToken", {
    example: { ...EXAMPLE, token: `sv-${"x".repeat(39)}${EXAMPLE.last_four}` },
  });

const serviceTokenList = countedList(serviceToken).openapi("ServiceTokenList");
const serviceTokenQuery = page({ search: keySearch }, byOffset);

const COLLECTION = {
  path: "/api/service-tokens",
  access: "administrator",
  // A token that makes tokens could give itself every scope.
  tokens: "closed",
  tag: "Service tokens",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "There is no such service token." };

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createServiceToken",
  summary: "Issue a service token",
  description:
    "A credential of a program that administers, sent as `Authorization: Bearer sv-…`. Each route names its scope. It " +
    "calls no model. The answer shows the secret, `token`, this once.",
  body: newServiceToken,
  answer: { status: 201, description: "The token, with its secret.", schema: issuedServiceToken },
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listServiceTokens",
  summary: "List the service tokens",
  description: "The newest first.",
  query: serviceTokenQuery,
  answer: { description: "A page of the tokens.", schema: serviceTokenList },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getServiceToken",
  summary: "Show one service token",
  description: "Without its secret, which is shown once only.",
  answer: { description: "The token.", schema: serviceToken },
  errors: unknown,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateServiceToken",
  summary: "Change a service token",
  description:
    "Fields that are not sent stay as they are. The change holds for the next call at this replica, and within two " +
    "seconds at all others.",
  body: serviceTokenChange,
  answer: { description: "The token as it is now.", schema: serviceToken },
  errors: unknown,
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteServiceToken",
  summary: "Delete a service token",
  description: "It opens nothing from then on.",
  answer: { status: 204, description: "The token is gone." },
  errors: unknown,
});
const ROTATE = resourceRoute({
  ...ONE,
  path: `${ONE.path}/rotate`,
  method: "post",
  operationId: "rotateServiceToken",
  summary: "Give a service token a new secret",
  description:
    "The old secret stops working at once. The answer shows the new one, `token`, this once.",
  answer: { description: "The token, with its new secret.", schema: issuedServiceToken },
  errors: unknown,
});

/** `/api/service-tokens`: the credentials of programs that administer, for administrators by session. */
export function serviceTokensRoutes(deps: Deps): Router {
  const { access } = deps;
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    const fields = toRecord(await readCheckedBody(context, newServiceToken));
    refusePastExpiry(fields.expiresAt, access.clock.now());
    const issued = await createServiceToken(access, actorOf(context, caller), fields);
    return issuedResponse(issued, 201);
  });
  router.add(LIST, async (context) => {
    const { tokens, total } = await listServiceTokens(
      access,
      readQuery(context, serviceTokenQuery),
    );
    return jsonResponse(toJson(serviceTokenList, { data: tokens, total }));
  });
  router.add(FIND, async (context) => tokenResponse(await findServiceToken(access, idOf(context))));
  router.add(UPDATE, async (context, caller) => {
    const fields = toRecord(await readCheckedBody(context, serviceTokenChange));
    refusePastExpiry(fields.expiresAt, access.clock.now());
    const change = { id: idOf(context), fields };
    return tokenResponse(await updateServiceToken(access, actorOf(context, caller), change));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteServiceToken(access, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  router.add(ROTATE, async (context, caller) => {
    const actor = actorOf(context, caller);
    return issuedResponse(await rotateServiceToken(access, actor, idOf(context)), 200);
  });
  return router;
}

function tokenResponse(token: ServiceToken): Response {
  return jsonResponse(toJson(serviceToken, token));
}

function issuedResponse({ token, text }: IssuedServiceToken, status: number): Response {
  return secretResponse(toJson(issuedServiceToken, { ...token, token: text }), status);
}
