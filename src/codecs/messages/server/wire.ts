import * as z from "zod";
import { nullishWords } from "../../shared/documented-words.ts";
import { extSchema, metadataSchema } from "../../shared/metadata-extension.ts";
import { assistantBlock, cacheControl, textBlock, userBlock } from "./wire-blocks.ts";

// The request as clients send it. Unknown fields are kept, and null means absent. The schemas only check and describe;
// the code reads the client's own body, so that a key such as `__proto__` stays plain data.

const toolName = z.looseObject({ type: z.literal("tool_reference"), name: z.string() });
const toolChange = z.looseObject({
  type: z.enum(["tool_addition", "tool_removal"]),
  tool: z.union([
    toolName,
    z.looseObject({ type: z.literal("tool_definition"), definition: z.looseObject({}) }),
    z.looseObject({ type: z.enum(["mcp_tool_reference", "mcp_toolset_reference"]) }),
  ]),
});

const effort = z.looseObject({ effort: z.string().nullish() }).nullish();

const message = z.discriminatedUnion("role", [
  z.looseObject({
    role: z.literal("user"),
    content: z.union([z.string(), z.array(userBlock).min(1)]),
  }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(assistantBlock)]),
  }),
  z.looseObject({
    role: z.literal("system").describe("May stand anywhere, also last."),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion("type", [textBlock, toolChange]))])
      .nullish(),
    output_config: effort.describe("Its `effort` holds from this message on."),
    clear_at: z.string().nullish().describe("`next_user_message` hides it after its turn."),
  }),
]);

const NATIVE_TYPE = /^(bash|computer|memory|text_editor)_\d{8}$/;

/** Returns true for the type of a tool that Anthropic's models know without a schema, and that the client runs. */
export function isNativeType(type: unknown): boolean {
  return typeof type === "string" && NATIVE_TYPE.test(type);
}

/** A tool of such a type. Tools that the vendor itself runs are dropped, whatever their content. */
export const nativeTool = z.looseObject({
  type: z.string(),
  name: z.string().min(1),
  cache_control: cacheControl,
});

/** A tool that the client defines and runs. */
export const customTool = z.looseObject({
  type: z.literal("custom").nullish(),
  name: z.string().min(1),
  description: z.string().nullish(),
  input_schema: z
    .looseObject({ type: z.literal("object").nullish() })
    .describe("JSON Schema of the input."),
  strict: z.boolean().nullish(),
  cache_control: cacheControl,
});

const tool = z
  .looseObject({ type: z.string().nullish() })
  .describe(
    "`{name, description, input_schema, strict, cache_control}`, or one that Anthropic's models know and the client " +
      "runs (`bash_…`, `computer_…`, `memory_…`, `text_editor_…`), which only they are offered. Tools that run on a " +
      "vendor's servers are ignored.",
  );

const integer = z.number().refine(Number.isInteger, "expected an integer");
const probability = z.number().min(0).max(1).nullish();

const thinkingConfig = z
  .discriminatedUnion("type", [
    z.looseObject({
      type: z.literal("adaptive"),
      display: z.enum(["summarized", "omitted"]).nullish(),
    }),
    z.looseObject({
      type: z.literal("enabled"),
      budget_tokens: integer.min(1).nullish().describe("Accepted; the effort decides."),
      display: z.enum(["summarized", "omitted"]).nullish(),
    }),
    z.looseObject({ type: z.literal("disabled") }),
    z.looseObject({ type: z.literal("between_tools") }),
  ])
  .nullish()
  .describe(
    "`disabled` is no effort, `between_tools` the lowest; `adaptive` and `enabled` are the effort of `output_config`, " +
      "else `high`. With `display` `omitted` thinking blocks come without their words.",
  );

const MESSAGES_EFFORTS = ["low", "medium", "high", "xhigh", "max"];

const outputFormat = z
  .looseObject({ type: z.literal("json_schema"), schema: z.looseObject({}) })
  .nullish();

const systemContent = z.union([z.string(), z.array(textBlock)]).nullish();

/** The fields shared by a request for an answer and a request for a token count. */
export const countRequestSchema = z.looseObject({
  model: z
    .string()
    .nullish()
    .describe(
      "An id of `GET /v1/models`. The default chat model answers for a missing or unknown one.",
    ),
  messages: z.array(message).min(1).describe("The conversation, in order."),
  system: systemContent.describe("What the model is told before the conversation."),
  max_tokens: integer
    .min(0)
    .nullish()
    .describe("Tokens the answer may have, thinking included. Not needed to count."),
  tools: z.array(tool).nullish().describe("What the model may call; only for models that can."),
  tool_choice: z
    .discriminatedUnion("type", [
      z.looseObject({
        type: z.enum(["auto", "any", "none"]),
        disable_parallel_tool_use: z.boolean().nullish(),
      }),
      z.looseObject({
        type: z.literal("tool"),
        name: z.string(),
        disable_parallel_tool_use: z.boolean().nullish(),
      }),
    ])
    .nullish()
    .describe("`disable_parallel_tool_use` allows one call an answer."),
  stop_sequences: z
    .array(z.string().min(1))
    .nullish()
    .describe("Strings that end the answer; it does not hold them."),
  stream: z.boolean().nullish().describe("Answer as server-sent events."),
  temperature: probability.describe(
    "How freely to choose; unset takes the engine's recommendation, as with all that follow.",
  ),
  top_p: probability.describe(
    "Choose among the likeliest tokens that together have this probability.",
  ),
  top_k: integer.min(0).nullish().describe("Choose among this many likeliest tokens."),
  thinking: thinkingConfig,
  output_config: z
    .looseObject({ effort: nullishWords(MESSAGES_EFFORTS), format: outputFormat })
    .nullish()
    .describe(
      "`effort`: how much to think: `low`, `medium`, `high` or `max`; `xhigh` is read as `max`. " +
        "`format`: a JSON schema that the answer follows, where the model's server can.",
    ),
  output_format: outputFormat.describe("The earlier name of `output_config.format`."),
  cache_control: cacheControl.describe("A mark on the last block of the conversation."),
  metadata: metadataSchema.nullish(),
  ext: extSchema.nullish(),
});

export const messagesRequestSchema = countRequestSchema.extend({
  max_tokens: integer
    .min(0)
    .describe(
      "Tokens the answer may have, thinking included. Cut to what fits the model's context. 0 reads the prompt, so " +
        "that it is cached, and answers nothing.",
    ),
});

export type MessagesRequest = z.infer<typeof countRequestSchema>;
export type WireMessage = MessagesRequest["messages"][number];
export type ToolChange = z.infer<typeof toolChange>;
