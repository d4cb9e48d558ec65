import { z } from "@hono/zod-openapi";
import {
  linkIdentity,
  listIdentities,
  unlinkIdentities,
  unlinkOwnIdentities,
} from "../../access/sign-in/identities.ts";
import { SignInRefusal } from "../../access/sign-in/sign-in-refusal.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const subject = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, "1 to 255 characters of ASCII")
  .openapi({ description: "The provider's id of the account: the claim `sub`." });
const issuer = z.string().regex(/^https?:\/\/[\x21-\x7e]{1,500}$/, "an issuer's address");

const newIdentity = z
  .strictObject({
    subject,
    issuer: issuer.optional().openapi({ description: "The provider of OIDC_ISSUER unless given." }),
  })
  .openapi("NewIdentity", { example: { subject: "248289761001" } });
const identity = z
  .object({ issuer: z.string(), subject: z.string(), created_at: time })
  .openapi("Identity");
const identityList = z
  .object({ object: z.literal("list"), data: z.array(identity) })
  .openapi("IdentityList");

const COLLECTION = {
  path: "/api/admin/users/{id}/identities",
  access: "administrator",
  // An account that is linked to a user can log in as that user.
  tokens: "closed",
  tag: "Users",
} as const;
const unknown = { 404: "There is no user with this id." };

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listIdentities",
  summary: "List the accounts that a user signs in with",
  answer: { description: "The accounts of providers.", schema: identityList },
  errors: unknown,
});
const LINK = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "linkIdentity",
  summary: "Link a user to an account of the provider",
  description: "In place of another account of the same issuer.",
  body: newIdentity,
  answer: { status: 201, description: "The account.", schema: identity },
  errors: unknown,
});
const UNLINK = resourceRoute({
  ...COLLECTION,
  method: "delete",
  operationId: "unlinkIdentities",
  summary: "Unlink a user from all accounts",
  answer: { status: 204, description: "The user has no account." },
  errors: unknown,
});

const OWN = {
  path: "/api/auth/identities",
  access: "session",
  tokens: "closed",
  tag: "Sessions",
} as const;
const LIST_OWN = resourceRoute({
  ...OWN,
  method: "get",
  operationId: "listOwnIdentities",
  summary: "List the accounts that one signs in with",
  answer: { description: "The accounts of providers.", schema: identityList },
});
const UNLINK_OWN = resourceRoute({
  ...OWN,
  method: "delete",
  operationId: "unlinkOwnIdentities",
  summary: "Unlink oneself from all accounts",
  description: "Sessions go on.",
  answer: { status: 204, description: "The user has no account." },
  errors: {
    403: "The user has no password, or OIDC_ONLY is set: nothing to log in with would be left.",
  },
});

/** The accounts of providers that users sign in with: `/api/admin/users/{id}/identities`, and one's own. */
export function identitiesRoutes(deps: Deps): Router {
  const { access, signIn } = deps;
  const router = createRouter(deps);
  router.add(LIST, async (context) =>
    jsonResponse(toJson(identityList, { data: await listIdentities(access, idOf(context)) })),
  );
  router.add(LIST_OWN, async (_, { ownerId }) =>
    jsonResponse(toJson(identityList, { data: await listIdentities(access, ownerId) })),
  );
  router.add(UNLINK_OWN, async (context, caller) => {
    await unlinkOwnIdentities(access, actorOf(context, caller));
    return new Response(null, { status: 204 });
  });
  router.add(LINK, async (context, caller) => {
    const given = await readCheckedBody(context, newIdentity);
    const asked = {
      userId: idOf(context),
      subject: given.subject,
      issuer: given.issuer ?? (await ownIssuer(signIn)),
    };
    const made = await linkIdentity(access, actorOf(context, caller), asked);
    return jsonResponse(toJson(identity, made), 201);
  });
  router.add(UNLINK, async (context, caller) => {
    await unlinkIdentities(access, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  return router;
}

async function ownIssuer(signIn: Deps["signIn"]): Promise<string> {
  if (signIn === undefined) {
    throw new ServiceError("invalid_value", "There is no OIDC_ISSUER; name the issuer.", {
      param: "issuer",
    });
  }
  return signIn.provider.issuer().catch((thrown: unknown) => {
    if (!(thrown instanceof SignInRefusal)) throw thrown;
    throw new ServiceError("overloaded", thrown.message, { cause: thrown });
  });
}
