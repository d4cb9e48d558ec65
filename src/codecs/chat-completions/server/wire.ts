import * as z from "zod";
import { ERROR_CODES, ERROR_TYPES } from "../../../core/service-error.ts";
import { answerExtSchema } from "../../shared/answer-extension.ts";
import { documentedWords, nullishWords } from "../../shared/documented-words.ts";
import {
  EFFORT_NAMES,
  EFFORT_WORDS,
  extSchema,
  metadataSchema,
} from "../../shared/metadata-extension.ts";
import {
  audioPart,
  filePart,
  imagePart,
  refusalPart,
  textPart,
  thinkingPart,
} from "./wire-parts.ts";

// The request as clients send it. Unknown fields are kept, and null means absent. The schemas only check and describe;
// the code reads the client's own body, so that a key such as `__proto__` stays plain data.

const functionCall = z.looseObject({
  id: z.string(),
  type: z.literal("function").nullish(),
  function: z.looseObject({
    name: z.string(),
    arguments: z
      .union([z.string(), z.looseObject({})])
      .nullish()
      .describe("JSON text, passed on byte for byte."),
  }),
});

const customCall = z.looseObject({
  id: z.string(),
  type: z.literal("custom"),
  custom: z.looseObject({ name: z.string(), input: z.string() }),
});

const toolCall = z.discriminatedUnion("type", [functionCall, customCall]);

const name = z.string().nullish();
const systemContent = z.union([z.string(), z.array(textPart).min(1)]);

const systemMessage = z.looseObject({
  role: z.enum(["system", "developer"]).describe("`developer` is the same as `system`."),
  content: systemContent,
  name,
});

const userMessage = z.looseObject({
  role: z.literal("user"),
  content: z.union([
    z.string(),
    z.array(z.discriminatedUnion("type", [textPart, imagePart, audioPart, filePart])).min(1),
  ]),
  name,
});

const assistantMessage = z.looseObject({
  role: z.literal("assistant"),
  content: z
    .union([
      z.string(),
      z.array(z.discriminatedUnion("type", [textPart, refusalPart, thinkingPart])),
    ])
    .nullish(),
  refusal: z.string().nullish(),
  reasoning_content: z.string().nullish().describe("What the model thought in that turn."),
  tool_calls: z.array(toolCall).nullish(),
  function_call: z
    .looseObject({ name: z.string(), arguments: z.string() })
    .nullish()
    .describe("A call in the form before tools."),
  name,
});

const toolMessage = z.looseObject({
  role: z.literal("tool"),
  tool_call_id: z.string(),
  content: z
    .union([z.string(), z.array(z.discriminatedUnion("type", [textPart, imagePart, filePart]))])
    .nullish(),
});

const functionMessage = z.looseObject({
  role: z.literal("function").describe("The result of a `function_call`, by its name."),
  name: z.string(),
  content: z.string().nullish(),
});

const message = z.discriminatedUnion("role", [
  systemMessage,
  userMessage,
  assistantMessage,
  toolMessage,
  functionMessage,
]);

/** A function that the model may call. Tools of other types are dropped, whatever their content. */
export const functionSchema = z.looseObject({
  name: z.string().min(1),
  description: z.string().nullish(),
  parameters: z.looseObject({}).nullish().describe("JSON Schema of the arguments."),
  strict: z.boolean().nullish(),
});

const tool = z
  .looseObject({ type: z.string().nullish(), function: z.unknown().optional() })
  .describe(
    '`{type: "function", function: {name, description, parameters, strict}}`, or the same without the inner object. Tools of other types are ignored.',
  );

const integer = z.number().refine(Number.isInteger, "expected an integer");
const limit = integer.min(0);

export const chatCompletionRequestSchema = z.looseObject({
  model: z
    .string()
    .nullish()
    .describe(
      "An id of `GET /v1/models`. The default chat model answers for a missing or unknown one.",
    ),
  messages: z.array(message).min(1).describe("The conversation, in order."),
  stream: z.boolean().nullish().describe("Answer as server-sent events that end with `[DONE]`."),
  stream_options: z
    .looseObject({ include_usage: z.boolean().nullish() })
    .nullish()
    .describe("`include_usage` adds a last chunk with `usage` and no choice."),
  temperature: z
    .number()
    .min(0)
    .nullish()
    .describe(
      "How freely to choose; unset takes the engine's recommendation, as with all that follow.",
    ),
  top_p: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe("Choose among the likeliest tokens that together have this probability."),
  top_k: integer.min(-1).nullish().describe("Choose among this many likeliest tokens; -1 is all."),
  max_tokens: limit
    .nullish()
    .describe(
      "Tokens the answer may have, thinking included. Cut to what fits the model's context. 0 reads the prompt and " +
        "answers nothing.",
    ),
  max_completion_tokens: limit.nullish().describe("Wins over `max_tokens`."),
  stop: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe("Strings that end the answer; it does not hold them."),
  seed: integer
    .nullish()
    .describe("The same seed and request give the same answer, as far as the engine can."),
  presence_penalty: z.number().nullish().describe("Above 0 makes new topics likelier."),
  frequency_penalty: z.number().nullish().describe("Above 0 makes repetition less likely."),
  logprobs: z.boolean().nullish().describe("Show the log probability of every token."),
  top_logprobs: integer
    .min(0)
    .nullish()
    .describe("Likeliest alternatives to show for every token."),
  n: z.number().nullish().describe("Only 1."),
  response_format: z
    .looseObject({
      type: z.string(),
      json_schema: z
        .looseObject({
          name: z.string(),
          schema: z.looseObject({}).nullish(),
          strict: z.boolean().nullish(),
          description: z.string().nullish(),
        })
        .nullish(),
    })
    .nullish()
    .describe("`text`, `json_object` or `json_schema`; other types are for local engines alone."),
  reasoning_effort: nullishWords(EFFORT_NAMES).describe(`How much to think: ${EFFORT_WORDS}.`),
  tools: z.array(tool).nullish().describe("What the model may call; only for models that can."),
  tool_choice: z
    .union([
      documentedWords(["auto", "none", "required", "any"]),
      z.looseObject({ type: z.string() }),
    ])
    .nullish()
    .describe('`auto`, `none`, `required`, or `{type: "function", function: {name}}`.'),
  parallel_tool_calls: z.boolean().nullish().describe("False allows one call an answer."),
  functions: z
    .array(functionSchema)
    .nullish()
    .describe("Tools in the form before them; only with `function_call` `none`."),
  function_call: z
    .union([z.string(), z.looseObject({ name: z.string() })])
    .nullish()
    .describe("Only `none`. Use `tools` and `tool_choice` for tools that the model may call."),
  metadata: metadataSchema.nullish(),
  ext: extSchema.nullish(),
});

export type ChatCompletionRequest = z.infer<typeof chatCompletionRequestSchema>;
export type WireMessage = ChatCompletionRequest["messages"][number];

const count = z.number().int().nonnegative();

const usage = z.looseObject({
  prompt_tokens: count.describe("Cached tokens included."),
  completion_tokens: count.describe("Reasoning tokens included."),
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count }).optional(),
});

const tokens = z.array(z.looseObject({ token: z.string() })).nullable();
const logprobs = z.looseObject({ content: tokens, refusal: tokens }).nullable();
const finishReason = z.enum(["stop", "length", "tool_calls", "content_filter"]);
const answerFunction = z.object({ name: z.string(), arguments: z.string().describe("JSON text.") });
const answerId = z.string().describe("`chatcmpl-` and the request id.");
const answeringModel = z.string().describe("The id of the model that truly answered.");

export const chatCompletionSchema = z.looseObject({
  id: answerId,
  object: z.literal("chat.completion"),
  created: z.number().int().describe("Unix seconds."),
  model: answeringModel,
  choices: z.array(
    z.looseObject({
      index: z.literal(0),
      message: z.looseObject({
        role: z.literal("assistant"),
        content: z.string().nullable(),
        refusal: z.string().nullable(),
        reasoning_content: z.string().optional().describe("What the model thought."),
        tool_calls: z
          .array(
            z.object({ id: z.string(), type: z.literal("function"), function: answerFunction }),
          )
          .optional(),
      }),
      logprobs,
      finish_reason: finishReason,
    }),
  ),
  usage: usage.optional(),
  ext: answerExtSchema,
});

export const chatCompletionChunkSchema = z.looseObject({
  id: answerId,
  object: z.literal("chat.completion.chunk"),
  created: z.number().int().describe("Unix seconds."),
  model: answeringModel,
  choices: z.array(
    z.looseObject({
      index: z.literal(0),
      delta: z.looseObject({
        role: z.literal("assistant").optional(),
        content: z.string().optional(),
        refusal: z.string().optional(),
        reasoning_content: z.string().optional(),
        tool_calls: z
          .array(
            z.object({
              index: count,
              id: z.string().optional(),
              type: z.literal("function").optional(),
              function: answerFunction.partial(),
            }),
          )
          .optional(),
      }),
      logprobs,
      finish_reason: finishReason.nullable(),
    }),
  ),
  usage: usage.nullish().describe("Only with `stream_options.include_usage`, in the last chunk."),
  ext: answerExtSchema,
});

export const errorSchema = z.object({
  error: z.object({
    message: z.string(),
    type: z.string().meta({ enum: [...ERROR_TYPES] }),
    param: z.string().nullable().describe("The request field at fault."),
    code: z
      .string()
      .nullable()
      .meta({ enum: [...ERROR_CODES, null] }),
  }),
});
