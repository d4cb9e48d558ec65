import { z } from "@hono/zod-openapi";
import type { Deps } from "../../deps.ts";
import type { Tool } from "../../tools/tool.ts";
import { boundTools } from "../../tools/visible-tools.ts";
import { jsonResponse } from "../answers/json-response.ts";
import { resourceRoute } from "../openapi/resource-route.ts";
import { createRouter, type Router } from "../request/routes/router.ts";

const tool = z
  .object({
    type: z.literal("function"),
    function: z.object({
      name: z.string(),
      description: z.string(),
      parameters: z.looseObject({}).openapi({ description: "The JSON Schema of the arguments." }),
    }),
    ext: z.object({
      level: z.enum(["read_only", "write", "full_auto"]).openapi({
        description: "What it may do, from the least to the most.",
      }),
      source: z.string().openapi({
        description: "`builtin`, or `mcp` for the tool of a tool server.",
      }),
    }),
  })
  .openapi("Tool", {
    example: {
      type: "function",
      function: {
        name: "search_knowledge",
        description: "Searches the documents of this assistant.",
        parameters: { type: "object", properties: { query: { type: "string" } } },
      },
      ext: { level: "read_only", source: "builtin" },
    },
  });
const toolList = z.object({ object: z.literal("list"), data: z.array(tool) }).openapi("ToolList");

const LIST = resourceRoute({
  path: "/v1/tools",
  access: "caller",
  tag: "Tools",
  method: "get",
  operationId: "listTools",
  summary: "List the tools of the bound assistant",
  description:
    "Those that the key's `tool_scope` and `max_level` allow, the same as `/mcp` lists. Empty for a key that is bound " +
    "to no assistant, and for a session.",
  answer: { description: "The tools, by name.", schema: toolList },
});

/** `GET /v1/tools`. */
export function toolsRoutes(deps: Deps): Router {
  const router = createRouter(deps);
  const parts = { registry: deps.tools, known: deps.knowledge.assistants.known };
  router.add(LIST, async (_context, caller) =>
    jsonResponse({ object: "list", data: boundTools(parts, caller).tools.map(toolJson) }),
  );
  return router;
}

function toolJson({ name, description, parameters, level, source = "builtin" }: Tool) {
  return { type: "function", function: { name, description, parameters }, ext: { level, source } };
}
