import * as z from "zod";

const id = z.union([z.string(), z.int()]);

/** Schemas for the API documentation. The messages are checked by the readers, which answer in the protocol's form. */
export const mcpMessageSchema = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: id.optional().describe("Absent in notifications."),
    method: z
      .string()
      .describe(
        "`initialize`, `ping`, `server/discover`, `tools/list`, `tools/call` or a notification.",
      ),
    params: z.looseObject({}).optional(),
  })
  .describe("A JSON-RPC request or notification of the Model Context Protocol.");

export const mcpAnswerSchema = z
  .looseObject({
    jsonrpc: z.literal("2.0"),
    id: id.optional().describe("That of the request; absent when it has none that can be read."),
    result: z.looseObject({}).optional(),
    error: z
      .looseObject({ code: z.int(), message: z.string(), data: z.looseObject({}).optional() })
      .optional(),
  })
  .describe("A JSON-RPC answer of the Model Context Protocol, with a result or an error.");
