import * as z from "zod";
import { metadataSchema } from "../metadata-extension.ts";

// The request as clients send it. Fields we do not know are kept, and null is as good as absent. The schemas check and
// describe; what is read is the client's own body, so that a key such as `__proto__` stays plain data.

/** Calls that the vendor's own servers ran, and what came of them: no other model can use them, so they are left out. */
const HOSTED_TYPE = /^(server|mcp)_tool_use$|_tool_result$|^mcp_tool_listing$|^fallback$/;

const hostedBlock = z
  .looseObject({})
  .refine(isHostedBlock, "expected a block of a hosted tool")
  .describe("`server_tool_use`, `…_tool_result` and the like of hosted tools are ignored.");

/** True for a block that concerns nobody but the vendor's own servers. */
export function isHostedBlock({ type }: { readonly type?: unknown }): boolean {
  return typeof type === "string" && HOSTED_TYPE.test(type);
}

const cacheControl = z
  .looseObject({})
  .nullish()
  .describe("Told to vendors that know such marks; others cache by themselves.");

const text = z.looseObject({
  type: z.literal("text"),
  text: z.string(),
  cache_control: cacheControl,
});

const base64Source = z.looseObject({
  type: z.literal("base64"),
  media_type: z.string(),
  data: z.string().min(1).describe("Base64."),
});
const urlSource = z.looseObject({
  type: z.literal("url"),
  url: z.string().describe("An `http(s)` address."),
});

const image = z.looseObject({
  type: z.literal("image"),
  source: z
    .discriminatedUnion("type", [base64Source, urlSource])
    .describe("Files are not stored: `file` is refused."),
  cache_control: cacheControl,
});

const document = z.looseObject({
  type: z.literal("document"),
  source: z.discriminatedUnion("type", [
    base64Source,
    urlSource,
    z.looseObject({ type: z.literal("text"), data: z.string() }),
    z.looseObject({
      type: z.literal("content"),
      content: z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image]))]),
    }),
  ]),
  title: z.string().nullish(),
  context: z.string().nullish(),
  cache_control: cacheControl,
});

const searchResult = z.looseObject({
  type: z.literal("search_result"),
  source: z.string(),
  title: z.string(),
  content: z.array(text),
  cache_control: cacheControl,
});

const toolReference = z.looseObject({
  type: z.literal("tool_reference"),
  tool_name: z.string(),
  cache_control: cacheControl,
});

const toolResult = z.looseObject({
  type: z.literal("tool_result"),
  tool_use_id: z.string().min(1),
  content: z
    .union([
      z.string(),
      z.array(z.discriminatedUnion("type", [text, image, document, searchResult, toolReference])),
    ])
    .nullish(),
  is_error: z.boolean().nullish(),
  cache_control: cacheControl,
});

const thinking = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string().nullish().describe("As an earlier answer gave it."),
});
const redactedThinking = z.looseObject({
  type: z.literal("redacted_thinking"),
  data: z.string(),
});

const toolUse = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string().min(1),
  name: z.string().min(1),
  input: z.looseObject({}),
  cache_control: cacheControl,
});

const userBlock = z.discriminatedUnion("type", [text, image, document, searchResult, toolResult]);
const assistantBlock = z.discriminatedUnion("type", [text, thinking, redactedThinking, toolUse]);

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
    content: z.union([z.string(), z.array(z.union([userBlock, hostedBlock])).min(1)]),
  }),
  z.looseObject({
    role: z.literal("assistant"),
    content: z.union([z.string(), z.array(z.union([assistantBlock, hostedBlock]))]),
  }),
  z.looseObject({
    role: z.literal("system").describe("May stand anywhere, also last."),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion("type", [text, toolChange]))])
      .nullish(),
    output_config: effort.describe("Its `effort` holds from this message on."),
    clear_at: z.string().nullish().describe("`next_user_message` hides it after its turn."),
  }),
]);

/** A tool that the client runs. Tools of other types are the vendor's own and are dropped, whatever they hold. */
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
    "`{name, description, input_schema, strict, cache_control}`. Tools that run on a vendor's servers are ignored.",
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

const outputFormat = z
  .looseObject({ type: z.literal("json_schema"), schema: z.looseObject({}) })
  .nullish();

const systemContent = z.union([z.string(), z.array(text)]).nullish();

/** The fields that a request for an answer and one for a count share. */
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
    .looseObject({ effort: z.string().nullish(), format: outputFormat })
    .nullish()
    .describe(
      "`effort`: how much to think: `low`, `medium`, `high` or `max`; `xhigh` is read as `max`. " +
        "`format`: a JSON schema that the answer follows, where the model's server can.",
    ),
  output_format: outputFormat.describe("The earlier name of `output_config.format`."),
  metadata: metadataSchema.nullish(),
  ext: z
    .looseObject({
      fallbacks: z
        .array(z.string())
        .nullish()
        .describe("Models to try in this order when the one asked for cannot answer."),
    })
    .nullish()
    .describe("The gateway's own settings."),
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
export type UserBlock = z.infer<typeof userBlock>;
export type AssistantBlock = z.infer<typeof assistantBlock>;
export type ToolResultBlock = z.infer<typeof toolResult>;
/** What may stand in a user's turn, a result or a document. */
export type ContentBlock = Exclude<UserBlock, ToolResultBlock> | z.infer<typeof toolReference>;
