import { z } from "@hono/zod-openapi";
import { SERVER_STATUSES } from "../tools/servers/server-health.ts";
import { TOOL_STATES } from "../tools/servers/tool-server.ts";
import { count, time } from "./fields.ts";
import { byOffset, countedList, page, search } from "./page.ts";

/** Tool servers as administrators send and see them. */

const MAX_URL_LENGTH = 2_048;
const MAX_HEADERS = 20;
const MAX_HEADER_BYTES = 8 * 1024;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const HEADER_VALUE = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
/** Headers that belong to the connection or to the protocol. The gateway sets them itself. */
const OWN_HEADER =
  /^(?:host|content-(?:length|type|encoding)|accept|accept-encoding|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|mcp-.*|last-event-id)$/i;
const MAX_TOOLS = 1_000;
const MAX_TOOL_NAME = 128;

const url = z
  .string()
  .max(MAX_URL_LENGTH)
  .refine(isServerUrl, "an http or https address without user name, password and fragment")
  .openapi({
    description: "Its endpoint, for Streamable HTTP. A private address needs EGRESS_ALLOW.",
    example: "https://tools.example.com/mcp",
  });

function isServerUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, hash } = new URL(text);
  return /^https?:$/.test(protocol) && username + password + hash === "";
}

const headers = z
  .record(z.string(), z.string())
  .refine((given) => Object.keys(given).every((name) => HEADER_NAME.test(name)), "names of headers")
  .refine(
    (given) => !Object.keys(given).some((name) => OWN_HEADER.test(name)),
    "no header of the connection or the protocol, such as Host, Content-Type or Mcp-Session-Id",
  )
  .refine(
    (given) => Object.values(given).every((value) => HEADER_VALUE.test(value)),
    "values of printable ASCII, without line breaks and spaces around them",
  )
  .refine(
    (given) =>
      new Set(Object.keys(given).map((name) => name.toLowerCase())).size ===
      Object.keys(given).length,
    "each header once",
  )
  .refine((given) => Object.keys(given).length <= MAX_HEADERS, `at most ${MAX_HEADERS} headers`)
  .refine((given) => JSON.stringify(given).length <= MAX_HEADER_BYTES, "at most 8 KiB of headers")
  .openapi({
    description:
      "Sent with each request to it, such as its API key. The values are stored encrypted and never shown.",
    example: { authorization: "Bearer secret-of-the-server" },
  });

const enabled = z
  .boolean()
  .openapi({ description: "A disabled one is not asked, and its tools are not offered." });

const timeout = z.int().min(1_000).max(600_000).nullable().openapi({
  description:
    "Time limit of one call in milliseconds; null, and anything longer, is TOOL_TIMEOUT_MS.",
});

const level = z
  .enum(["read_only", "write", "full_auto"])
  .openapi({ description: "What it may do, from the least to the most." });

export const newMcpServer = z
  .strictObject({
    name: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]{0,19}$/, "1 to 20 of a-z, 0-9 and -, of which the first is no -")
      .openapi({ description: "A part of the names of its tools. It cannot be changed." }),
    url,
    headers: headers.default({}),
    enabled: enabled.default(true),
    timeout_ms: timeout.default(null),
    approve_tools: z.boolean().default(true).openapi({
      description:
        "False lets the tools wait that are listed at this moment, so that they can be seen first.",
    }),
  })
  .openapi("NewMcpServer", {
    example: {
      name: "tickets",
      url: "https://tools.example.com/mcp",
      headers: { authorization: "Bearer secret-of-the-server" },
    },
  });

export const mcpServerChange = z
  .strictObject({
    url: url.optional(),
    headers: headers.optional(),
    enabled: enabled.optional(),
    timeout_ms: timeout.optional(),
    approve_tools: z.boolean().optional().openapi({
      description: "With a new `url`: approves the tools that are listed there at this moment.",
    }),
  })
  .openapi("McpServerChange", { example: { enabled: false } });

export const approval = z
  .strictObject({
    tools: z
      .array(z.string().min(1).max(MAX_TOOL_NAME))
      .max(MAX_TOOLS)
      .optional()
      .openapi({ description: "The `name` of each; without them all that wait or have changed." }),
    revision: z.string().max(64).optional().openapi({
      description: "The `revision` of the tools that were seen: another list is not approved.",
    }),
  })
  .openapi("McpServerApproval", { example: { tools: ["create_ticket"] } });

export const levelChange = z
  .strictObject({
    level: level.nullable().openapi({
      description: "null goes by what the server says of the tool.",
    }),
  })
  .openapi("McpServerToolChange", { example: { level: "read_only" } });

const parameters = z
  .record(z.string(), z.unknown())
  .openapi({ description: "The JSON Schema of the arguments." });

const tool = z
  .object({
    name: z.string().openapi({ description: "The server's own name." }),
    tool: z.string().nullable().openapi({
      description:
        "The name that assistants and keys use. null: two names of this server become the same one.",
    }),
    description: z.string(),
    level,
    level_source: z.enum(["annotations", "administrator"]),
    state: z.enum(TOOL_STATES).openapi({
      description:
        "Only `approved` ones are offered. `waiting`: new. `changed`: listed in another form than the approved one, " +
        "which is shown. `gone`: listed no longer; it was approved, or an administrator set its level.",
    }),
    parameters,
    schema_replaced: z.boolean().openapi({
      description:
        "Its schema is too large: any object is accepted here, and the server checks it. As the replica that answers " +
        "saw it.",
    }),
    listed: z
      .object({ description: z.string(), parameters, level })
      .optional()
      .openapi({ description: "Of a changed tool: what would be approved." }),
  })
  .openapi("McpServerTool");

const shown = {
  id: z.string(),
  object: z.literal("mcp_server"),
  name: z.string(),
  url: z.string(),
  header_names: z.array(z.string()).openapi({ description: "Their values are never shown." }),
  enabled,
  timeout_ms: timeout,
  status: z.enum(SERVER_STATUSES).openapi({
    description: "As the replica that answers sees it. It checks each server every 20 seconds.",
  }),
  status_reason: z.string().nullable().openapi({ description: "Why it is in error." }),
  status_since: time.nullable().openapi({
    description:
      "Since when it has this status for that replica; null while it is disabled or not checked yet.",
  }),
  checked_at: time.nullable(),
  tool_counts: z
    .object({ approved: count, waiting: count, changed: count, gone: count })
    .openapi({ description: "Its tools by state." }),
  created_at: time,
};

const EXAMPLE = {
  id: "mcps_3v9QmTq2LxZ8cR5nYb7KdW",
  object: "mcp_server",
  name: "tickets",
  url: "https://tools.example.com/mcp",
  header_names: ["authorization"],
  enabled: true,
  timeout_ms: null,
  status: "connected",
  status_reason: null,
  status_since: "2026-09-21T13:33:20.000Z",
  checked_at: "2026-09-21T13:33:40.000Z",
  tool_counts: { approved: 1, waiting: 0, changed: 0, gone: 0 },
  created_at: "2026-09-21T13:33:20.000Z",
} as const;

const listedMcpServer = z.object(shown).openapi("ListedMcpServer", { example: EXAMPLE });

export const mcpServer = z
  .object({
    ...shown,
    revision: z.string().openapi({ description: "Stands for the list of tools; for `approve`." }),
    tools: z.array(tool),
    left_out: z
      .array(
        z.object({
          name: z.string().nullable().openapi({ description: "Cleaned, if it has one." }),
          reason: z.string(),
        }),
      )
      .openapi({
        description:
          "Tools that it lists but that cannot be offered, the first 50, as the replica that answers saw them.",
      }),
  })
  .openapi("McpServer", {
    example: {
      ...EXAMPLE,
      revision: "5d41402abc4b2a76b9719d911017c592",
      tools: [
        {
          name: "create_ticket",
          tool: "mcp_tickets_create_ticket",
          description: "Opens a ticket.",
          level: "write",
          level_source: "annotations",
          state: "approved",
          parameters: { type: "object", properties: { title: { type: "string" } } },
          schema_replaced: false,
        },
      ],
      left_out: [
        { name: "create_ticket", reason: "An earlier tool of the list has the same name." },
      ],
    },
  });

export const mcpServerList = countedList(listedMcpServer).openapi("McpServerList");
export const mcpServerQuery = page(
  { search: search("A part of the name, or a whole id.") },
  byOffset,
);
