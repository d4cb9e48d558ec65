import * as z from "zod";
import type { ToolRun } from "../../core/chat/chat-event.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { AnswerContext } from "../codec.ts";

const toolRun = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    status: z.enum(["running", "ok", "error"]),
    duration_ms: z.number().int().nonnegative().optional(),
    arguments: z
      .string()
      .optional()
      .describe("What the model called it with, at most 4 KiB; only to a session."),
    result: z
      .string()
      .optional()
      .describe("The first 4 KiB of what the model was given; only to a session."),
  })
  .describe("A run of one of the gateway's own tools.");

/** The `ext` member of an answer, for the API documentation. */
export const answerExtSchema = z
  .object({
    model: z
      .string()
      .optional()
      .describe("The id of the model that answered for an assistant. A stream reports it at once."),
    sources: z
      .array(
        z.looseObject({
          index: z.number().int().describe("The number that the answer cites it by: `[1]`."),
          vector_store_id: z.string(),
          file_id: z.string(),
          filename: z.string(),
          page: z.number().int().optional().describe("From 1."),
          sheet: z.string().optional(),
          heading: z.string().optional(),
          text: z.string(),
          score: z.number().describe("The cosine of question and passage, from 0 to 1."),
          cited: z.boolean().describe("The answer cites it."),
        }),
      )
      .optional()
      .describe("The passages that the model was given, by rank."),
    tool_run: toolRun.optional().describe("In a stream: a tool begins or has ended."),
    tool_runs: z.array(toolRun).optional().describe("Without a stream: the tools that ran."),
    ignored: z
      .array(z.string())
      .optional()
      .describe(
        "Parameters of the request that had no effect, sorted, as in the header `x-ignored-parameters`. " +
          "A stream reports them in its first event.",
      ),
  })
  .optional()
  .describe("The gateway's own part of the answer.");

interface Extension {
  readonly sources?: readonly JsonObject[] | undefined;
  readonly toolRuns?: readonly ToolRun[] | undefined;
  readonly context?: AnswerContext;
}

/** Returns the `ext` member of an answer, or no member when it would be empty. */
export function encodeExtension({ sources = [], toolRuns = [], context }: Extension): JsonObject {
  const ignored = context?.ignored ?? [];
  const model = context?.assistantModel;
  if (sources.length + toolRuns.length + ignored.length === 0 && model === undefined) return {};
  return {
    ext: {
      ...(model !== undefined && { model }),
      ...(sources.length > 0 && { sources }),
      ...(toolRuns.length > 0 && { tool_runs: toolRuns.map(encodeRun) }),
      ...(ignored.length > 0 && { ignored }),
    },
  };
}

/** Returns the `ext` member that reports one run in a stream. */
export function encodeToolRun(run: ToolRun): JsonObject {
  return { ext: { tool_run: encodeRun(run) } };
}

function encodeRun({ durationMs, arguments: args, result, ...run }: ToolRun): JsonObject {
  const { id, name, status } = run;
  return {
    ...{ id, name, status },
    ...(durationMs !== undefined && { duration_ms: durationMs }),
    ...(args !== undefined && { arguments: args }),
    ...(result !== undefined && { result }),
  };
}
