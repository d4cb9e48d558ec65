import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { refuseRestrictedKey } from "../../workflows/records/workflow.ts";
import { deleteSecret, listSecrets, putSecret } from "../../workflows/secrets.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson } from "../answers/to-json.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { storableText, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import { TAG } from "../workflow-fields.ts";

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const MAX_LENGTH = 8_192;

const secretValue = z
  .strictObject({
    // The name of the field keeps its value out of errors.
    secret: storableText(MAX_LENGTH).min(1).openapi({
      format: "password",
      description: "Stored encrypted and never shown.",
    }),
  })
  .openapi("WorkflowSecretValue", { example: { secret: "Bearer of the ticket system" } });
const entry = z
  .object({ object: z.literal("workflow.secret"), name: z.string(), updated_at: time })
  .openapi("WorkflowSecret", {
    example: {
      object: "workflow.secret",
      name: "tickets",
      updated_at: "2026-11-23T13:33:20.000Z",
    },
  });
const secretList = countedList(entry).openapi("WorkflowSecretList");
const secretQuery = page({}, byOffset);
const deleted = z
  .object({
    name: z.string(),
    object: z.literal("workflow.secret.deleted"),
    deleted: z.literal(true),
  })
  .openapi("DeletedWorkflowSecret", {
    example: { name: "tickets", object: "workflow.secret.deleted", deleted: true },
  });

const COLLECTION = {
  path: "/api/pipeline/secrets",
  access: "person",
  tokens: "workflows",
  tag: TAG,
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{name}` } as const;

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listWorkflowSecrets",
  summary: "List the names of the caller's secrets",
  query: secretQuery,
  answer: { description: "A page of the names.", schema: secretList },
});
const PUT = resourceRoute({
  ...ONE,
  method: "put",
  operationId: "putWorkflowSecret",
  summary: "Store a secret",
  description:
    'Steps of the caller\'s workflows name it in their headers and in `url` of `notify`: `{"secret": "tickets"}`; ' +
    "`sign_with` of `notify` has the name alone. A user has up to 200.",
  body: secretValue,
  answer: { description: "Its name.", schema: entry },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteWorkflowSecret",
  summary: "Delete a secret",
  answer: { description: "The secret is gone.", schema: deleted },
  errors: { 404: "The caller has no such secret." },
});

/** `/api/pipeline/secrets`: what steps send in headers, and nobody reads again. */
export function workflowSecretsRoutes(deps: Deps): Router {
  const { workflows: records } = deps;
  const router = createRouter(deps);
  router.add(LIST, async (context, caller) => {
    const list = await listSecrets(records, caller.ownerId, readQuery(context, secretQuery));
    return jsonResponse(toJson(secretList, list));
  });
  router.add(PUT, async (context, caller) => {
    refuseRestrictedKey(caller);
    const name = nameOf(context);
    const { secret: value } = await readCheckedBody(context, secretValue);
    const stored = await putSecret(records, actorOf(context, caller), { name, value });
    return jsonResponse(toJson(entry, stored));
  });
  router.add(DELETE, async (context, caller) => {
    refuseRestrictedKey(caller);
    const name = context.req.param("name") ?? "";
    await deleteSecret(records, actorOf(context, caller), name);
    return jsonResponse(toJson(deleted, { name }));
  });
  return router;
}

function nameOf({ req }: RequestContext): string {
  const name = req.param("name") ?? "";
  if (NAME.test(name)) return name;
  throw invalidValue(["name"], "up to 64 letters, digits, '_', '.' and '-'", name);
}
