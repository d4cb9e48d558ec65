import { mcpAnswerSchema, mcpMessageSchema } from "../../../codecs/mcp/wire.ts";
import { CHAT_ERRORS, KEY_SECURITY, refusal } from "../../openapi/documentation.ts";
import type { RouteDefinition } from "../../request/routes/route.ts";

const LIST_REQUEST = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const CALL_REQUEST = {
  jsonrpc: "2.0",
  id: 2,
  method: "tools/call",
  params: { name: "search_knowledge", arguments: { query: "warranty of the machine" } },
};
const INITIALIZE_REQUEST = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "a client", version: "1.0.0" },
  },
};
const LIST_ANSWER = {
  jsonrpc: "2.0",
  id: 1,
  result: {
    tools: [
      {
        name: "search_knowledge",
        description: "Searches the documents of this assistant.",
        inputSchema: { type: "object", properties: { query: { type: "string" } } },
        annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: false },
      },
    ],
  },
};
const CALL_ANSWER = {
  jsonrpc: "2.0",
  id: 2,
  result: {
    content: [{ type: "text", text: "[1] handbook.pdf\nThe warranty lasts two years." }],
    isError: false,
  },
};
const FAULT_ANSWER = {
  jsonrpc: "2.0",
  id: 2,
  result: {
    content: [
      {
        type: "text",
        text: "Tool 'search_knowledge': argument 'limit' must be integer, got string.",
      },
    ],
    isError: true,
  },
};
const UNKNOWN_METHOD = {
  jsonrpc: "2.0",
  id: 3,
  error: { code: -32601, message: "The method 'resources/list' is not served." },
};

const { 404: _noAssistants, 502: _noEngine, ...MCP_ERRORS } = CHAT_ERRORS;

export const callMcp = {
  access: "caller",
  audience: "public",
  channel: "mcp",
  method: "post",
  path: "/mcp",
  operationId: "callMcp",
  tags: ["Tools"],
  summary: "Speak the Model Context Protocol",
  description:
    "The tools of the key's assistant for a client of the protocol: the versions 2025-03-26, 2025-06-18 and 2025-11-25, " +
    "which begin with `initialize`, and 2026-07-28. There are no sessions, and nothing but tools: those that `GET " +
    "/v1/tools` lists, none for a key that is bound to no assistant and none for a session. A call that takes longer " +
    "than `STREAM_KEEPALIVE_MS` is answered with an event stream of comments and one `message`, unless `Accept` names " +
    "no event streams. Only `tools/call` is metered: as a request, with the tool's name and without tokens. It is " +
    "refused with 429 when a limit of the key is reached, also one of tokens. A call above `read_only` stands in the " +
    "audit log, without its arguments. A wrong argument is an answer with `isError`; arguments are never converted.",
  security: KEY_SECURITY,
  request: {
    body: {
      required: true,
      content: {
        "application/json": {
          schema: mcpMessageSchema,
          examples: {
            list: { summary: "List the tools", value: LIST_REQUEST },
            call: { summary: "Call a tool", value: CALL_REQUEST },
            initialize: { summary: "Begin, up to 2025-11-25", value: INITIALIZE_REQUEST },
          },
        },
      },
    },
  },
  responses: {
    200: {
      description: "The answer, or a stream with it when it takes long.",
      content: {
        "application/json": {
          schema: mcpAnswerSchema,
          examples: {
            list: { summary: "The tools", value: LIST_ANSWER },
            call: { summary: "A result", value: CALL_ANSWER },
            fault: { summary: "A wrong argument", value: FAULT_ANSWER },
          },
        },
        "text/event-stream": { schema: mcpAnswerSchema },
      },
    },
    202: { description: "A notification was taken." },
    ...MCP_ERRORS,
    400: refusal(
      "The body is not JSON, or a batch. A message that is wrong by the protocol has the protocol's own error.",
    ),
    403: refusal(
      "The key may not be used from this address, the page's `Origin` is foreign, or the license has expired.",
    ),
    404: {
      description: "With 2026-07-28: the method is not served.",
      content: { "application/json": { schema: mcpAnswerSchema, example: UNKNOWN_METHOD } },
    },
  },
} satisfies RouteDefinition<"caller">;
