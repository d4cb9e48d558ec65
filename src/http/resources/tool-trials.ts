import { z } from "@hono/zod-openapi";
import { parseRequest } from "../../codecs/shared/check-request.ts";
import type { SessionCaller } from "../../core/callers/caller.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Deps } from "../../deps.ts";
import { tryTool } from "../../gateway/try-tool.ts";
import type { Assistant } from "../../knowledge/assistants/assistant.ts";
import { rawMember } from "../../lib/json/raw-json.ts";
import { listLeftOut, listReplaced } from "../../tools/servers/tool-servers.ts";
import type { Tool } from "../../tools/tool.ts";
import { trialAssistant } from "../../tools/trial-assistant.ts";
import { visibleTools } from "../../tools/visible-tools.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { readJsonBody } from "../bodies/read-json-body.ts";
import { count, queryId } from "../fields.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { openQuietCall } from "../request/open-quiet-call.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

/** As at `/mcp`: arguments of a tool are short. */
const BODY_LIMITS = { maxBytes: 4 * 1024 * 1024, maxDepth: 64, isFixed: true } as const;
const MAX_STORES = 20;

const level = z.enum(["read_only", "write", "full_auto"]).openapi({
  description: "What it may do, from the least to the most.",
});
const listedTool = z
  .object({
    object: z.literal("tool"),
    name: z.string(),
    description: z.string(),
    parameters: z
      .record(z.string(), z.unknown())
      .openapi({ description: "The JSON Schema of the arguments." }),
    level,
    source: z.enum(["builtin", "mcp"]).openapi({ description: "`mcp`: of a tool server." }),
    available: z.boolean().openapi({
      description: "False where it lacks what it works on, such as a saved connection.",
    }),
    schema_replaced: z.boolean().openapi({
      description: "Its tool server's schema is too large: any object is accepted in its place.",
    }),
  })
  .openapi("ListedTool", {
    example: {
      object: "tool",
      name: "query_sql",
      description: "Runs one reading statement.",
      parameters: { type: "object", properties: { sql: { type: "string" } } },
      level: "read_only",
      source: "builtin",
      available: true,
      schema_replaced: false,
    },
  });
const missing = z
  .object({
    server_id: z.string(),
    server: z.string().openapi({ description: "The name of the tool server." }),
    name: z.string().nullable().openapi({ description: "The server's own name, if it has one." }),
    reason: z.string(),
  })
  .openapi("LeftOutTool");
const listedTools = z
  .object({
    object: z.literal("list"),
    data: z.array(listedTool),
    left_out: z.array(missing).openapi({
      description:
        "What tool servers list but cannot be offered, as the replica that answers saw it.",
    }),
  })
  .openapi("ListedTools");

const trial = z
  .strictObject({
    arguments: z.record(z.string(), z.unknown()).default({}),
    assistant_id: queryId.optional().openapi({
      description: "Through this assistant, with its tools, connections and stores alone.",
    }),
    vector_store_ids: z.array(queryId).max(MAX_STORES).optional().openapi({
      description: "What `search_knowledge` searches; without an assistant.",
    }),
  })
  .openapi("ToolTrial", { example: { arguments: { sql: "select 1" } } });
const outcome = z
  .object({
    object: z.literal("tool.result"),
    name: z.string(),
    is_error: z.boolean().openapi({ description: "The tool failed; `text` says why." }),
    text: z.string().openapi({ description: "What a model would be given." }),
    param: z.string().nullable().openapi({
      description: "The argument that is wrong, such as `by[0].field`; null where none is.",
    }),
    duration_ms: count,
  })
  .openapi("ToolTrialResult", {
    example: {
      object: "tool.result",
      name: "query_sql",
      is_error: false,
      text: "[[1]]",
      param: null,
      duration_ms: 12,
    },
  });

const COLLECTION = {
  path: "/api/tools",
  access: "administrator",
  tokens: "closed",
  tag: "Tools",
} as const;

const LIST = resourceRoute({
  ...COLLECTION,
  method: "get",
  operationId: "listAllTools",
  summary: "List all tools",
  description: "Those that are built in, and those of tool servers as they are offered now.",
  answer: { description: "The tools, by name.", schema: listedTools },
});
const CALL = resourceRoute({
  ...COLLECTION,
  path: `${COLLECTION.path}/{name}/call`,
  method: "post",
  operationId: "callTool",
  summary: "Try a tool",
  description:
    "Runs it once, as a model would, under the same limits of time, size and egress; the user's limits count it. The " +
    "audit log has each call, without its arguments and result. A tool that fails is answered with 200 and `is_error`.",
  body: trial,
  answer: { description: "What came of it.", schema: outcome },
  errors: {
    404: "There is no such tool, assistant or vector store, or it is not available.",
    429: "A limit of the user is reached; `Retry-After` tells how long.",
  },
});

/** `/api/tools`: all tools, and calls by which administrators try them. */
export function toolTrialsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const { clock } = deps;
  router.add(LIST, (_, caller) => {
    const replaced = new Set(listReplaced(deps.toolServers));
    const usable = new Set(deps.tools.list(trialAssistant(caller.ownerId, [ANY_STORE])));
    return jsonResponse({
      object: "list",
      data: deps.tools.all().map((tool) => ({
        ...shown(tool, usable.has(tool)),
        schema_replaced: replaced.has(tool.name),
      })),
      left_out: listLeftOut(deps.toolServers).map(({ serverId, ...tool }) => ({
        server_id: serverId,
        ...tool,
      })),
    });
  });
  router.add(CALL, async (context, caller) => {
    const { requestId, arrivedAt: startedAt, line: observer, trace, address } = context.env;
    const overload = deps.callGate.refusal(true);
    if (overload !== undefined) {
      await deps.callGate.turn();
      throw overload;
    }
    const open = openQuietCall(deps, context);
    try {
      const { signal } = open;
      const { body, text: received } = await readJsonBody(context.req.raw, BODY_LIMITS);
      const given = parseRequest(trial, body);
      const assistant = await assistantOf(deps, caller, given);
      const name = context.req.param("name") ?? "";
      const tool = visibleTools(deps.tools, assistant, caller).find((one) => one.name === name);
      if (tool === undefined) throw unknownTool();
      const client = { requestId, caller, channel: "mcp", address, startedAt, signal } as const;
      const call = { tool, assistant, args: rawMember(received, "arguments") ?? "{}" };
      const beganAt = clock.now();
      const { text, isError, argument } = await tryTool(
        withAssistants(deps),
        { ...client, observer, trace },
        call,
      );
      return jsonResponse({
        object: "tool.result",
        name,
        is_error: isError === true,
        text,
        param: argument ?? null,
        duration_ms: Math.max(0, clock.now() - beganAt),
      });
    } finally {
      open.close();
    }
  });
  return router;
}

/** Stands for the vector stores that a call names. */
const ANY_STORE = "vs_";

function shown(
  { name, description, parameters, level, source = "builtin" }: Tool,
  isUsable: boolean,
) {
  return { object: "tool", name, description, parameters, level, source, available: isUsable };
}

async function assistantOf(
  { knowledge }: Deps,
  caller: SessionCaller,
  { assistant_id: id, vector_store_ids: stores = [] }: z.output<typeof trial>,
): Promise<Assistant> {
  if (id === undefined) {
    await knowledge.checkStores(caller, stores);
    return trialAssistant(caller.ownerId, stores);
  }
  if (stores.length > 0) {
    throw new ServiceError("invalid_value", "Send 'assistant_id' or 'vector_store_ids'.", {
      param: "vector_store_ids",
    });
  }
  const assistant = knowledge.assistants.known.find(id, caller);
  if (assistant !== undefined) return assistant;
  throw new ServiceError("not_found", "There is no such assistant.", { param: "assistant_id" });
}

function withAssistants({ gateway }: Deps) {
  const { assistants } = gateway;
  if (assistants === undefined) throw new Error("a gateway without tools serves no tools");
  return { ...gateway, assistants };
}

function unknownTool(): ServiceError {
  return new ServiceError(
    "not_found",
    "There is no such tool, or it lacks what it works on. GET /api/tools lists all.",
  );
}
