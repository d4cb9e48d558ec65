import * as z from "zod";
import { answerExtSchema } from "../../shared/answer-extension.ts";

// Schemas of the answers in this format, for the API documentation.

const count = z.number().int().nonnegative();

const usage = z.looseObject({
  input_tokens: count.describe("Without those read from the cache or written to it."),
  cache_creation_input_tokens: count,
  cache_read_input_tokens: count,
  output_tokens: count.describe("Thinking included."),
  output_tokens_details: z.object({ thinking_tokens: count }).nullable(),
  server_tool_use: z.null().describe("No tool runs on a vendor's servers."),
});

/** A message's own usage says where it ran as well. */
const messageUsage = usage.extend({
  cache_creation: z.null(),
  service_tier: z.string(),
  inference_geo: z.null(),
});

const stopReason = z.enum([
  "end_turn",
  "max_tokens",
  "stop_sequence",
  "tool_use",
  "pause_turn",
  "refusal",
  "model_context_window_exceeded",
]);

const block = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string(), citations: z.null() }),
  z.looseObject({
    type: z.literal("thinking"),
    thinking: z.string().describe("What the model thought; empty with `display` `omitted`."),
    signature: z.string().describe("To be sent back unchanged with the thought."),
  }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: z.string() }),
  z.looseObject({
    type: z.literal("tool_use"),
    id: z.string(),
    name: z.string(),
    input: z.looseObject({}),
    caller: z
      .object({ type: z.literal("direct") })
      .describe("The model calls tools itself: none of its code runs elsewhere."),
  }),
]);

const end = {
  stop_reason: stopReason.nullable(),
  stop_sequence: z.string().nullable().describe("The stop string that was met."),
  stop_details: z.looseObject({}).nullable(),
  container: z.null(),
};

export const messageSchema = z.looseObject({
  id: z.string().describe("`msg_` and the request id."),
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: z.string().describe("The id of the model that truly answered."),
  content: z.array(block),
  ...end,
  usage: messageUsage,
  ext: answerExtSchema,
});

const index = count.describe("The block's place in `content`.");

export const messagesErrorSchema = z.object({
  type: z.literal("error"),
  error: z.object({ type: z.string(), message: z.string() }),
  request_id: z.string(),
});

/** The data of one event of a stream; the event's name is its `type`. */
export const messageEventSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("message_start"), message: messageSchema }),
  z.looseObject({ type: z.literal("ping"), ext: answerExtSchema }),
  z.looseObject({ type: z.literal("content_block_start"), index, content_block: block }),
  z.looseObject({
    type: z.literal("content_block_delta"),
    index,
    delta: z.discriminatedUnion("type", [
      z.object({ type: z.literal("text_delta"), text: z.string() }),
      z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
      z.object({ type: z.literal("signature_delta"), signature: z.string() }),
      z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
    ]),
  }),
  z.looseObject({ type: z.literal("content_block_stop"), index }),
  z.looseObject({
    type: z.literal("message_delta"),
    delta: z.object(end),
    usage: usage.describe("Stands for the figures of `message_start`."),
    ext: answerExtSchema,
  }),
  z.looseObject({ type: z.literal("message_stop") }),
  messagesErrorSchema,
]);

export const tokenCountSchema = z.object({
  input_tokens: count.describe("Tokens of the whole prompt, tools included."),
});
