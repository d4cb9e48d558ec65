import * as z from "zod";
import { answerExtSchema } from "../../shared/answer-extension.ts";

const count = z.number().int().nonnegative();

export const textContent = z.object({
  type: z.literal("output_text"),
  text: z.string(),
  annotations: z.array(z.looseObject({})),
  logprobs: z.array(
    z.object({
      token: z.string(),
      logprob: z.number(),
      bytes: z.array(count),
      top_logprobs: z.array(
        z.object({ token: z.string(), logprob: z.number(), bytes: z.array(count) }),
      ),
    }),
  ),
});

export const refusalContent = z.object({ type: z.literal("refusal"), refusal: z.string() });

export const summaryContent = z.object({ type: z.literal("summary_text"), text: z.string() });

const itemStatus = z
  .enum(["in_progress", "completed", "incomplete"])
  .describe("`incomplete` when the answer was cut in this item.");
const callId = z.string().describe("Names the call when its output is sent back.");
const namespace = z.string().optional().describe("The namespace that the tool was defined in.");

export const outputItem = z.discriminatedUnion("type", [
  z.object({
    id: z.string(),
    type: z.literal("message"),
    role: z.literal("assistant"),
    status: itemStatus,
    content: z.array(z.discriminatedUnion("type", [textContent, refusalContent])),
  }),
  z.object({
    id: z.string(),
    type: z.literal("reasoning"),
    summary: z.array(summaryContent).describe("What the model thought."),
    encrypted_content: z
      .string()
      .optional()
      .describe("To be sent back with the next question, as it is."),
  }),
  z.object({
    id: z.string(),
    type: z.literal("file_search_call"),
    status: z.enum(["in_progress", "completed"]),
    queries: z.array(z.string()),
    results: z
      .array(
        z.object({
          file_id: z.string(),
          filename: z.string(),
          attributes: z.looseObject({}),
          text: z.string(),
          score: z.number(),
        }),
      )
      .nullable()
      .describe("The passages, when `include` names `file_search_call.results`."),
  }),
  z.object({
    id: z.string(),
    type: z.literal("function_call"),
    status: itemStatus,
    call_id: callId,
    name: z.string(),
    namespace,
    arguments: z.string().describe("JSON text, in the very characters that the model wrote."),
  }),
  z.object({
    id: z.string(),
    type: z.literal("custom_tool_call"),
    status: itemStatus,
    call_id: callId,
    name: z.string(),
    namespace,
    input: z.string(),
  }),
]);

const usage = z.object({
  input_tokens: count.describe("Cached tokens included."),
  input_tokens_details: z.object({ cached_tokens: count, cache_write_tokens: count }),
  output_tokens: count.describe("Reasoning tokens included."),
  output_tokens_details: z.object({ reasoning_tokens: count }),
  total_tokens: count,
});

const repeated = {
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  tools: z
    .array(z.looseObject({ type: z.string() }))
    .describe("The tools that the model was told of."),
  tool_choice: z.union([z.string(), z.looseObject({ type: z.string() })]),
  truncation: z.enum(["auto", "disabled"]),
  parallel_tool_calls: z.boolean(),
  text: z.looseObject({ format: z.looseObject({ type: z.string() }) }),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: count,
  reasoning: z.object({ effort: z.string().nullable(), summary: z.string().nullable() }),
  max_output_tokens: count.nullable(),
  max_tool_calls: z.number().int().nullable(),
  store: z.boolean().describe("The answer is remembered, and later requests can refer to it."),
  background: z.literal(false),
  service_tier: z.literal("default"),
  metadata: z.looseObject({}),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  user: z.string().optional(),
};

export const responseSchema = z.object({
  id: z.string().describe("`resp_` and the request id."),
  object: z.literal("response"),
  created_at: z.number().int().describe("Unix seconds."),
  completed_at: z.number().int().nullable().describe("Unix seconds."),
  status: z.enum(["in_progress", "completed", "incomplete", "failed"]),
  incomplete_details: z
    .object({ reason: z.enum(["max_output_tokens", "content_filter"]) })
    .nullable()
    .describe("Why the answer was cut."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  model: z.string().describe("The id of the model that truly answered."),
  output: z.array(outputItem),
  usage: usage.nullable(),
  ...repeated,
  ext: answerExtSchema,
});
