import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import {
  createAssistant,
  deleteAssistant,
  updateAssistant,
} from "../../knowledge/assistants/change-assistant.ts";
import { findAssistant, listAssistants } from "../../knowledge/assistants/list-assistants.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { assistantBody, assistantJson, assistantSchema, fieldsOfBody } from "../assistant-body.ts";
import { readCheckedBody } from "../bodies/read-checked-body.ts";
import { queryId } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** Instructions have 256,000 characters of up to four bytes, or of six when they are escaped. */
const BODY_LIMITS = { maxBytes: 2 * 1024 * 1024, maxDepth: 64, isFixed: true } as const;

const assistantList = z
  .object({
    object: z.literal("list"),
    data: z.array(assistantSchema),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean().openapi({ description: "There are further ones after this page." }),
  })
  .openapi("AssistantList");
const deletedAssistant = z
  .object({ id: z.string(), object: z.literal("assistant.deleted"), deleted: z.literal(true) })
  .openapi("DeletedAssistant", {
    example: { id: "asst_3v9QmTq2LxZ8cR5nYb7KdW", object: "assistant.deleted", deleted: true },
  });
const assistantQuery = z.strictObject({
  limit: z.int().min(1).max(100).default(20),
  order: z.enum(["asc", "desc"]).default("desc"),
  after: queryId.optional().openapi({ description: "The id before the page." }),
  before: queryId.optional().openapi({ description: "The id after the page." }),
});

const COLLECTION = { path: "/v1/assistants", access: "caller", tag: "Assistants" } as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const forbidden = {
  403: "The key is bound to an assistant, only an administrator may set the field, or only a key with more rights.",
};
const unknown = { 404: "There is no such assistant for the caller." };

const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createAssistant",
  summary: "Create an assistant",
  description:
    "A model with instructions, knowledge and tools, which chats call by its name, its id or its slug as `model`. It " +
    "belongs to its creator. Only administrators share it, and give it connections, tools other than " +
    "`search_knowledge`, or a `max_level` above `read_only`; a key of theirs within its own rights.",
  body: assistantBody,
  answer: { description: "The assistant.", schema: assistantSchema },
  errors: { ...forbidden, 404: "A vector store does not exist for the caller." },
});
const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listAssistants",
  summary: "List the assistants",
  description: "Those that the caller may use, by the time of their creation.",
  query: assistantQuery,
  answer: { description: "A page of the assistants.", schema: assistantList },
  errors: { ...forbidden, 400: "A parameter of the page is wrong; `param` names it." },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getAssistant",
  summary: "Show one assistant",
  answer: { description: "The assistant.", schema: assistantSchema },
  errors: { ...forbidden, ...unknown },
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "post",
  operationId: "updateAssistant",
  summary: "Change an assistant",
  description:
    "Fields that are not sent stay as they are. The change holds for the next call at this replica, and within a second " +
    "at all others.",
  body: assistantBody,
  answer: { description: "The assistant as it is now.", schema: assistantSchema },
  errors: { ...forbidden, ...unknown },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteAssistant",
  summary: "Delete an assistant",
  description: "Keys that are bound to it stay bound, and get a 404 for every call.",
  answer: { description: "The assistant is gone.", schema: deletedAssistant },
  errors: { ...forbidden, ...unknown },
});

/** `/v1/assistants`: models with instructions, knowledge and tools. */
export function assistantsRoutes(deps: Deps): Router {
  const { knowledge, tools } = deps;
  const desk = {
    ...knowledge.assistants,
    isTool: (name: string) => tools.find(name) !== undefined,
  };
  const router = createRouter(deps);
  router.add(CREATE, async (context, caller) => {
    const given = fieldsOfBody(await readCheckedBody(context, assistantBody, BODY_LIMITS), []);
    return jsonResponse(
      assistantJson(await createAssistant(desk, actorOf(context, caller), given)),
    );
  });
  router.add(LIST, async (context, caller) => {
    const query = readQuery(context, assistantQuery);
    const { assistants, hasMore } = await listAssistants(desk, caller, query);
    return jsonResponse({
      object: "list",
      data: assistants.map(assistantJson),
      first_id: assistants[0]?.id ?? null,
      last_id: assistants.at(-1)?.id ?? null,
      has_more: hasMore,
    });
  });
  router.add(FIND, async (context, caller) =>
    jsonResponse(assistantJson(await findAssistant(desk, caller, idOf(context)))),
  );
  router.add(UPDATE, async (context, caller) => {
    const id = idOf(context);
    const body = await readCheckedBody(context, assistantBody, BODY_LIMITS);
    const changed = await updateAssistant(desk, actorOf(context, caller), {
      id,
      patchOf: ({ tools }) => fieldsOfBody(body, tools),
    });
    return jsonResponse(assistantJson(changed));
  });
  router.add(DELETE, async (context, caller) => {
    const id = idOf(context);
    await deleteAssistant(desk, actorOf(context, caller), id);
    return jsonResponse({ id, object: "assistant.deleted", deleted: true });
  });
  return router;
}
