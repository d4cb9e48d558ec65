import type { Deps } from "../../deps.ts";
import { approveTools, setToolLevel } from "../../tools/servers/changes/approve-tools.ts";
import { createToolServer, deleteToolServer } from "../../tools/servers/changes/change-server.ts";
import { updateToolServer } from "../../tools/servers/changes/update-server.ts";
import {
  checkToolServer,
  findToolServer,
  listToolServers,
  type ShownServerWithTools,
} from "../../tools/servers/tool-servers.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { toJson, toRecord } from "../answers/to-json.ts";
import { hasBody, readCheckedBody } from "../bodies/read-checked-body.ts";
import {
  approval,
  levelChange,
  mcpServer,
  mcpServerChange,
  mcpServerList,
  mcpServerQuery,
  newMcpServer,
} from "../mcp-server-fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { readQuery } from "../page.ts";
import { actorOf } from "../request/actor-of.ts";
import { idOf } from "../request/id-of.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const COLLECTION = {
  path: "/api/mcp-servers",
  access: "administrator",
  tokens: "mcp_servers",
  tag: "Tool servers",
} as const;
const ONE = { ...COLLECTION, path: `${COLLECTION.path}/{id}` } as const;
const unknown = { 404: "There is no tool server with this id." };
const answer = { description: "The tool server as it is now, with its tools.", schema: mcpServer };

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listMcpServers",
  summary: "List the tool servers",
  description: "By name, without their tools. The former path `/api/tool-servers` is redirected.",
  query: mcpServerQuery,
  answer: { description: "A page of the tool servers.", schema: mcpServerList },
});
const CREATE = resourceRoute({
  ...COLLECTION,
  method: "post",
  operationId: "createMcpServer",
  summary: "Add a tool server",
  description:
    "A server of the Model Context Protocol over Streamable HTTP. The tools that it lists at this moment are approved. " +
    "One that cannot be used is saved too, with the status `error`; its tools wait for approval when it lists them. The " +
    "tools of one that a service token adds wait too.",
  body: newMcpServer,
  answer: { ...answer, status: 201 },
});
const FIND = resourceRoute({
  ...ONE,
  method: "get",
  operationId: "getMcpServer",
  summary: "Show one tool server, with its tools",
  answer,
  errors: unknown,
});
const UPDATE = resourceRoute({
  ...ONE,
  method: "patch",
  operationId: "updateMcpServer",
  summary: "Change a tool server",
  description:
    "Fields that are not sent stay as they are; `headers` are replaced as a whole. At a new `url` all tools wait for " +
    "approval, unless `approve_tools` is true. A `url` of another origin needs `headers`, because those of one server " +
    "are not sent to another.",
  body: mcpServerChange,
  answer,
  errors: { ...unknown, 409: "The tool server was changed by somebody else meanwhile." },
});
const DELETE = resourceRoute({
  ...ONE,
  method: "delete",
  operationId: "deleteMcpServer",
  summary: "Delete a tool server",
  description: "Its tools are not offered from then on.",
  answer: { status: 204, description: "The tool server is gone." },
  errors: unknown,
});
const APPROVE = resourceRoute({
  ...ONE,
  path: `${ONE.path}/approve`,
  // A tool acts with whatever it was approved for, so a person decides.
  tokens: "closed",
  method: "post",
  operationId: "approveMcpServerTools",
  summary: "Approve tools of a tool server",
  description: "New and changed tools, as the server last listed them.",
  body: approval,
  hasOptionalBody: true,
  answer,
  errors: { ...unknown, 409: "The list of tools is no longer that of `revision`." },
});
const CHECK = resourceRoute({
  ...ONE,
  path: `${ONE.path}/check`,
  method: "post",
  operationId: "checkMcpServer",
  summary: "Check a tool server now",
  description: "Lists its tools. A disabled one is not asked.",
  answer,
  errors: unknown,
});
const SET_LEVEL = resourceRoute({
  ...ONE,
  path: `${ONE.path}/tools/{tool}`,
  // A tool acts with whatever it was approved for, so a person decides.
  tokens: "closed",
  method: "patch",
  operationId: "updateMcpServerTool",
  summary: "Set the level of a tool",
  description:
    "`tool` is its name as assistants use it. Without a level of an administrator it is `read_only` if the server " +
    "gives `readOnlyHint: true`, `write` with `destructiveHint: false`, and else `full_auto`.",
  body: levelChange,
  answer,
  errors: { 404: "There is no such tool server, or it has no such tool." },
});

/** `/api/mcp-servers`: the tool servers, for administrators. */
export function mcpServersRoutes(deps: Deps): Router {
  const { toolServers } = deps;
  const router = createRouter(deps);
  router.add(LIST, (context) => {
    const { servers, total } = listToolServers(toolServers, readQuery(context, mcpServerQuery));
    return jsonResponse(toJson(mcpServerList, { data: servers, total }));
  });
  router.add(CREATE, async (context, caller) => {
    const fields = toRecord(await readCheckedBody(context, newMcpServer));
    const url = normalized(fields.url);
    const actor = actorOf(context, caller);
    return shown(await createToolServer(toolServers, actor, { ...fields, url }), 201);
  });
  router.add(FIND, (context) => shown(findToolServer(toolServers, idOf(context))));
  router.add(UPDATE, async (context, caller) => {
    const { url, ...fields } = toRecord(await readCheckedBody(context, mcpServerChange));
    const given = { ...fields, ...(url !== undefined && { url: normalized(url) }) };
    const actor = actorOf(context, caller);
    return shown(await updateToolServer(toolServers, actor, { id: idOf(context), given }));
  });
  router.add(DELETE, async (context, caller) => {
    await deleteToolServer(toolServers, actorOf(context, caller), idOf(context));
    return new Response(null, { status: 204 });
  });
  router.add(APPROVE, async (context, caller) => {
    const given = hasBody(context) ? await readCheckedBody(context, approval) : {};
    const actor = actorOf(context, caller);
    return shown(await approveTools(toolServers, actor, { ...given, id: idOf(context) }));
  });
  router.add(CHECK, async (context) => shown(await checkToolServer(toolServers, idOf(context))));
  router.add(SET_LEVEL, async (context, caller) => {
    const { level } = await readCheckedBody(context, levelChange);
    const change = { id: idOf(context), tool: context.req.param("tool") ?? "", level };
    return shown(await setToolLevel(toolServers, actorOf(context, caller), change));
  });
  return router;
}

/** In one spelling, so that only another address counts as another one. */
function normalized(url: string): string {
  return new URL(url).href;
}

function shown(server: ShownServerWithTools, status?: number): Response {
  return jsonResponse(toJson(mcpServer, server), status);
}
