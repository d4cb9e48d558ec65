import { z } from "@hono/zod-openapi";
import { invalidValue } from "../../codecs/shared/check-request.ts";
import type { Deps } from "../../deps.ts";
import { keepLargeNumbers } from "../../lib/json/exact-json.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { readFields } from "../../workflows/definition/describe-faults.ts";
import { outside } from "../../workflows/definition/parse-triggers.ts";
import {
  createWorkflow,
  type NewWorkflow,
  type SavedWorkflow,
  updateWorkflow,
  validateWorkflow,
  type WorkflowPatch,
} from "../../workflows/records/save-workflow.ts";
import type { Workflow } from "../../workflows/records/workflow.ts";
import {
  deleteWorkflow,
  exportWorkflow,
  findWorkflow,
  listVersions,
  listWorkflows,
  rotateWebhook,
} from "../../workflows/records/workflows.ts";
import { jsonResponse, secretResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { readJsonBody } from "../bodies/read-json-body.ts";
import { queryId, time } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { byOffset, countedList, page, readQuery, search } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import type { RequestContext } from "../request/routes/route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";
import {
  definitionFields,
  definitionRefusal,
  headChange,
  newHead,
  newWorkflowBody,
  schedules,
  TAG,
  UNKNOWN_WORKFLOW,
  webhook,
  workflow,
  workflowChangeBody,
} from "../workflow-fields.ts";

/** Twice a definition, for a body that is written with indents; its own limit counts compact JSON. */
const BODY = {
  maxBytes: 1024 * 1024,
  maxDepth: 64,
  isFixed: true,
  rewrite: keepLargeNumbers,
} as const;

const { triggers: _triggers, steps: _steps, ...summaryFields } = workflow.shape;
const summary = z
  .object({
    ...summaryFields,
    trigger_kinds: z.array(z.string()).openapi({ example: ["webhook", "schedule"] }),
  })
  .openapi("WorkflowSummary");
const workflowList = countedList(summary).openapi("WorkflowList");
const workflowQuery = page(
  {
    search: search("A part of the name, whatever its case."),
    enabled: z
      .enum(["true", "false"])
      .transform((text) => text === "true")
      .optional()
      .openapi({ type: "string", enum: ["true", "false"] }),
    owner_id: queryId.optional(),
  },
  byOffset,
);

const exported = z
  .object({
    name: summaryFields.name,
    description: summaryFields.description,
    timeout_seconds: summaryFields.timeout_seconds,
    keep_rows: summaryFields.keep_rows,
    ...definitionFields,
  })
  .openapi("WorkflowExport");

const version = z
  .object({
    object: z.literal("workflow.version"),
    version: z.int(),
    created_at: time,
    created_by: z.string().nullable().openapi({ description: "The user or key that saved it." }),
    ...definitionFields,
  })
  .openapi("WorkflowVersion");
const versionList = countedList(version).openapi("WorkflowVersionList");
const versionQuery = page({}, byOffset);

const validation = z
  .object({ object: z.literal("workflow.validation"), valid: z.literal(true), schedules })
  .openapi("WorkflowValidation", {
    example: {
      object: "workflow.validation",
      valid: true,
      schedules: [{ trigger: 0, next: ["2026-11-30T06:00:00.000Z"] }],
    },
  });
const deleted = z
  .object({ id: z.string(), object: z.literal("workflow.deleted"), deleted: z.literal(true) })
  .openapi("DeletedWorkflow", {
    example: { id: "wf_3v9QmTq2LxZ8cR5nYb7KdW", object: "workflow.deleted", deleted: true },
  });

const COLLECTION = {
  path: "/api/pipeline/workflows",
  access: "person",
  tokens: "workflows",
  tag: TAG,
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;

/** Saving needs no license: nothing starts. */
function saving<Route extends { readonly responses: object }>(route: Route): Route {
  const responses = { ...route.responses, 400: definitionRefusal };
  return { ...route, responses, licensed: false };
}

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listWorkflows",
  summary: "List the workflows",
  description: "Those that the caller may see, the newest first, without their steps.",
  query: workflowQuery,
  answer: { description: "A page of the workflows.", schema: workflowList },
});
const CREATE = saving(
  resourceRoute({
    ...COLLECTION,
    method: "post",
    operationId: "createWorkflow",
    summary: "Create or import a workflow",
    description:
      "The caller owns it. An export is such a body. With a webhook the answer shows its credential once.",
    body: newWorkflowBody,
    answer: { status: 201, description: "The workflow.", schema: workflow },
  }),
);
const VALIDATE = saving(
  resourceRoute({
    ...COLLECTION,
    path: `${COLLECTION.path}/validate`,
    method: "post",
    operationId: "validateWorkflow",
    summary: "Check a workflow without saving it",
    body: newWorkflowBody,
    answer: { description: "It can be saved.", schema: validation },
  }),
);
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getWorkflow",
  summary: "Show one workflow",
  answer: { description: "The workflow.", schema: workflow },
  errors: UNKNOWN_WORKFLOW,
});
const UPDATE = saving(
  resourceRoute({
    ...ONE,
    method: "patch",
    operationId: "updateWorkflow",
    summary: "Change a workflow",
    description:
      "Fields that are not sent stay as they are. Other triggers or steps make a new version; runs that are accepted " +
      "keep theirs.",
    body: workflowChangeBody,
    answer: { description: "The workflow as it is now.", schema: workflow },
    errors: { ...UNKNOWN_WORKFLOW, 409: "It was changed meanwhile; read it again." },
  }),
);
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteWorkflow",
  summary: "Delete a workflow",
  description: "Stops its runs. The records of its runs stay.",
  answer: { description: "The workflow is gone.", schema: deleted },
  errors: UNKNOWN_WORKFLOW,
});
const EXPORT = resourceRoute({
  ...ONE,
  path: `${ONE.path}/export`,
  method: "get",
  operationId: "exportWorkflow",
  summary: "Export a workflow",
  description: "What creating one takes: without ids, key and secrets.",
  answer: { description: "The body of a new workflow.", schema: exported },
  errors: UNKNOWN_WORKFLOW,
});
const VERSIONS = resourceRoute({
  ...ONE,
  path: `${ONE.path}/versions`,
  method: "get",
  operationId: "listWorkflowVersions",
  summary: "List the versions of a workflow",
  description: "The newest first.",
  query: versionQuery,
  answer: { description: "A page of the versions.", schema: versionList },
  errors: UNKNOWN_WORKFLOW,
});
const ROTATE = {
  ...resourceRoute({
    ...ONE,
    path: `${ONE.path}/webhook-secret`,
    method: "post",
    operationId: "rotateWorkflowWebhook",
    summary: "Replace the credential of a webhook",
    description: "The former one is invalid at once. The new one is shown this once.",
    answer: { description: "The webhook.", schema: webhook },
    errors: UNKNOWN_WORKFLOW,
  }),
  licensed: false,
};

/** `/api/pipeline/workflows`: definitions of work that runs by itself. */
export function workflowsRoutes(deps: Deps): Router {
  const { workflows: records } = deps;
  const router = createRouter(deps);
  router.add(LIST, async (context, caller) => {
    const list = await listWorkflows(records, caller, toRecord(readQuery(context, workflowQuery)));
    return jsonResponse(toJson(workflowList, list));
  });
  router.add(CREATE, async (context, caller) => {
    const given = await readNewWorkflow(context);
    return savedResponse(await createWorkflow(records, actorOf(context, caller), given), 201);
  });
  router.add(VALIDATE, async (context, caller) => {
    const given = await readNewWorkflow(context);
    const { triggers } = await validateWorkflow(records, caller, given);
    const now = deps.clock.now();
    const shown = triggers.flatMap((trigger, at) =>
      trigger.kind === "schedule"
        ? [{ trigger: at, next: records.schedules.nextTimes(trigger, now, now) }]
        : [],
    );
    return jsonResponse(toJson(validation, { schedules: shown }));
  });
  router.add(FIND, async (context, caller) =>
    jsonResponse(toJson(workflow, await findWorkflow(records, caller, idOf(context)))),
  );
  router.add(UPDATE, async (context, caller) => {
    const change = { id: idOf(context), patch: await readPatch(context) };
    return savedResponse(await updateWorkflow(records, actorOf(context, caller), change));
  });
  router.add(DELETE, async (context, caller) => {
    const id = idOf(context);
    await deleteWorkflow(records, actorOf(context, caller), id);
    return jsonResponse(toJson(deleted, { id }));
  });
  router.add(EXPORT, async (context, caller) =>
    jsonResponse(toJson(exported, await exportWorkflow(records, caller, idOf(context)))),
  );
  router.add(VERSIONS, async (context, caller) => {
    const asked = { id: idOf(context), ...readQuery(context, versionQuery) };
    return jsonResponse(toJson(versionList, await listVersions(records, caller, asked)));
  });
  router.add(ROTATE, async (context, caller) => {
    const issued = await rotateWebhook(records, actorOf(context, caller), idOf(context));
    return secretResponse(toJson(webhook, issued));
  });
  return router;
}

function savedResponse({ workflow: saved, issued }: SavedWorkflow, status = 200): Response {
  const shown: Workflow = issued === undefined ? saved : { ...saved, webhook: issued };
  const body = toJson(workflow, shown);
  return issued === undefined ? jsonResponse(body, status) : secretResponse(body, status);
}

/** Reads a body without refusing its faults, which are reported together with those of its definition. */
async function readBody<Head extends z.ZodObject>({ req }: RequestContext, head: Head) {
  const { body } = await readJsonBody(req.raw, BODY);
  if (!isJsonObject(body)) throw invalidValue([], "an object", body);
  const { triggers, steps, ...rest } = body;
  const read = readFields<z.output<Head>>(head as never, rest, ["triggers", "steps"]);
  const faults = "faults" in read ? read.faults : [];
  return {
    ...{ triggers, steps, rest },
    fields: "fields" in read ? read.fields : undefined,
    faults: faults.map(({ field, message }) => outside(field, message)),
  };
}

async function readNewWorkflow(context: RequestContext): Promise<NewWorkflow> {
  const { fields, rest, ...given } = await readBody(context, newHead);
  // With a fault nothing is saved: the other fields decide what is found besides it.
  const { key_id = null, visibility = "private" } = soundFields(rest);
  const head = fields ?? newHead.parse({ name: "-", key_id, visibility });
  return { ...toRecord(head), ...given };
}

async function readPatch(context: RequestContext): Promise<WorkflowPatch> {
  const { fields, rest, ...given } = await readBody(context, headChange);
  return { ...toRecord(fields ?? soundFields(rest)), ...given };
}

const checkedFields = headChange.pick({ key_id: true, visibility: true });

/** The fields that the checks of a definition look at. */
function soundFields({ key_id, visibility }: JsonObject): z.output<typeof checkedFields> {
  const { data } = checkedFields.safeParse({ key_id, visibility });
  return data ?? {};
}
