import * as z from "zod";
import { documentedWords, nullishWords } from "../../shared/documented-words.ts";
import {
  EFFORT_NAMES,
  EFFORT_WORDS,
  extSchema,
  metadataSchema,
} from "../../shared/metadata-extension.ts";
import { documentedFileSearchTool } from "./wire-file-search.ts";

// The request as clients send it. Unknown fields are kept, and null means absent. The schemas only check and describe;
// the code reads the client's own body, so that a key such as `__proto__` stays plain data. Each item and each tool is
// checked separately, by the schema of its type; unknown types are accepted.

const textPart = z.looseObject({
  type: z.enum(["input_text", "output_text"]),
  text: z.string(),
});

const imagePart = z.looseObject({
  type: z.literal("input_image"),
  image_url: z.string().nullish().describe("An `http(s)` address or a base64 `data:` URL."),
  file_id: z.string().nullish().describe("Refused: files are not stored."),
  detail: z.string().nullish(),
});

const filePart = z.looseObject({
  type: z.literal("input_file"),
  file_data: z.string().nullish().describe("A base64 `data:` URL."),
  file_url: z.string().nullish().describe("An `http(s)` address."),
  file_id: z.string().nullish().describe("Refused: files are not stored."),
  filename: z.string().nullish(),
});

const audioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({
    data: z.string().describe("Base64."),
    format: z.string().describe("`wav` or `mp3`."),
  }),
});

const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

const messageType = z.literal("message").nullish();

/** A message; most clients omit its type. */
export const messageItem = z.discriminatedUnion("role", [
  z.looseObject({
    type: messageType,
    role: z.enum(["system", "developer"]).describe("`developer` is the same as `system`."),
    content: z.union([z.string(), z.array(textPart).min(1)]),
  }),
  z.looseObject({
    type: messageType,
    role: z.literal("user"),
    content: z.union([
      z.string(),
      z.array(z.discriminatedUnion("type", [textPart, imagePart, filePart, audioPart])).min(1),
    ]),
  }),
  z.looseObject({
    type: messageType,
    role: z.literal("assistant"),
    content: z
      .union([z.string(), z.array(z.discriminatedUnion("type", [textPart, refusalPart]))])
      .nullish(),
  }),
]);

const name = z.string().min(1);
const callId = z.string().min(1).describe("Pairs a call with its output.");
const namespace = z.string().nullish();

export const functionCallItem = z.looseObject({
  type: z.literal("function_call"),
  call_id: callId,
  name,
  namespace,
  arguments: z.string().describe("JSON text, passed on byte for byte."),
});

export const customToolCallItem = z.looseObject({
  type: z.literal("custom_tool_call"),
  call_id: callId,
  name,
  namespace,
  input: z.string(),
});

export const callOutputItem = z.looseObject({
  type: z.enum(["function_call_output", "custom_tool_call_output"]),
  call_id: callId,
  output: z.union([
    z.string(),
    z.array(z.discriminatedUnion("type", [textPart, imagePart, filePart])),
  ]),
});

const thoughtPart = z.looseObject({ type: z.string().nullish(), text: z.string() });

export const reasoningItem = z.looseObject({
  type: z.literal("reasoning"),
  summary: z.array(thoughtPart).nullish(),
  content: z.array(thoughtPart).nullish(),
  encrypted_content: z.string().nullish().describe("As an earlier answer gave it."),
});

/** A reference to an item of an earlier answer, by its id. */
const itemReference = z.looseObject({
  type: z.literal("item_reference"),
  id: z.string().describe("Of an item of a remembered answer."),
});

const anyItem = z.looseObject({ type: z.string().nullish() });

const description = z.string().nullish();

export const functionTool = z.looseObject({
  type: z.literal("function").nullish(),
  name,
  description,
  parameters: z.looseObject({}).nullish().describe("JSON Schema of the arguments."),
  strict: z.boolean().nullish(),
});

export const customTool = z.looseObject({
  type: z.literal("custom"),
  name,
  description,
  format: z
    .looseObject({
      type: z.string(),
      syntax: z.string().nullish(),
      definition: z.string().nullish(),
    })
    .nullish()
    .describe("`text`, or a `grammar` that the model is told of."),
});

const anyTool = z.looseObject({ type: z.string().nullish() });

export const namespaceTool = z.looseObject({
  type: z.literal("namespace"),
  name,
  description,
  tools: z.array(anyTool).min(1).describe("Functions and custom tools."),
});

const integer = z.number().refine(Number.isInteger, "expected an integer");

const textFormat = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text") }),
  z.looseObject({ type: z.literal("json_object") }),
  z.looseObject({
    type: z.literal("json_schema"),
    name,
    schema: z.looseObject({}),
    strict: z.boolean().nullish(),
    description,
  }),
]);

export const responsesRequestSchema = z.looseObject({
  model: z
    .string()
    .nullish()
    .describe(
      "An id of `GET /v1/models`. The default chat model answers for a missing or unknown one.",
    ),
  input: z
    .union([z.string().min(1), z.array(anyItem).min(1)])
    .describe("The question, or the whole conversation in order."),
  instructions: z.string().nullish().describe("A system message before all others."),
  stream: z.boolean().nullish().describe("Answer as server-sent events."),
  stream_options: z.looseObject({}).nullish().describe("Accepted and without effect."),
  max_output_tokens: integer
    .min(1)
    .nullish()
    .describe(
      "Tokens the answer may have, thinking included. Cut to what fits the model's context.",
    ),
  max_tool_calls: integer.nullish().describe("Accepted and without effect."),
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
  stop: z
    .union([z.string(), z.array(z.string())])
    .nullish()
    .describe("Strings that end the answer; it does not hold them."),
  seed: integer
    .nullish()
    .describe("The same seed and request give the same answer, as far as the engine can."),
  presence_penalty: z.number().nullish().describe("Above 0 makes new topics likelier."),
  frequency_penalty: z.number().nullish().describe("Above 0 makes repetition less likely."),
  top_logprobs: integer
    .min(0)
    .nullish()
    .describe("Likeliest alternatives to show for every token."),
  reasoning: z
    .looseObject({
      effort: nullishWords(EFFORT_NAMES).describe(`How much to think: ${EFFORT_WORDS}.`),
      summary: documentedWords(["auto", "concise", "detailed"])
        .nullish()
        .describe("What the model thinks is shown in any case."),
    })
    .nullish(),
  text: z
    .looseObject({
      format: textFormat.nullish(),
      verbosity: nullishWords(["low", "medium", "high"]),
    })
    .nullish()
    .describe("`format` is `text`, `json_object` or `json_schema`."),
  tools: z.array(anyTool).nullish().describe("What the model may call; only for models that can."),
  tool_choice: z
    .union([documentedWords(["auto", "none", "required"]), z.looseObject({ type: z.string() })])
    .nullish()
    .describe(
      '`auto`, `none`, `required`, `{type: "function", name}`, `{type: "custom", name}` or `{type: "allowed_tools", mode, tools}`.',
    ),
  parallel_tool_calls: z.boolean().nullish().describe("False allows one call an answer."),
  include: z
    .array(z.string())
    .nullish()
    .describe(
      "`reasoning.encrypted_content` adds what is to be sent back with the next question, `message.output_text.logprobs` the log probabilities.",
    ),
  metadata: metadataSchema.nullish(),
  ext: extSchema.nullish(),
  previous_response_id: z
    .string()
    .nullish()
    .describe("The response that this one continues. Its instructions do not count any more."),
  store: z
    .boolean()
    .nullish()
    .describe(
      "False remembers nothing of this call. Else its answer is kept in memory for an hour after its last use.",
    ),
  background: z.boolean().nullish().describe("Only false."),
  truncation: documentedWords(["auto", "disabled"])
    .nullish()
    .describe("Accepted and without effect."),
  service_tier: z.string().nullish().describe("Accepted and without effect."),
  prompt_cache_key: z.string().nullish(),
  safety_identifier: z.string().nullish(),
  user: z.string().nullish(),
});

/** The request for the API documentation: with the items and tools that the gateway supports. */
export const documentedRequestSchema = responsesRequestSchema.extend({
  input: z
    .union([
      z.string().min(1),
      z
        .array(
          z.union([
            messageItem,
            functionCallItem,
            customToolCallItem,
            callOutputItem,
            reasoningItem,
            itemReference,
          ]),
        )
        .min(1),
    ])
    .describe(
      "The question, or the whole conversation in order. Items of other types are ignored.",
    ),
  tools: z
    .array(z.union([functionTool, customTool, namespaceTool, documentedFileSearchTool]))
    .nullish()
    .describe(
      "What the model may call; only for models that can. `file_search` is answered by the gateway, for every model. " +
        "Tools of other types are ignored.",
    ),
});

export type ResponsesRequest = z.infer<typeof responsesRequestSchema>;
export type WireMessage = z.infer<typeof messageItem>;
export type WirePart = z.infer<
  typeof textPart | typeof imagePart | typeof filePart | typeof audioPart | typeof refusalPart
>;
export type WireImage = z.infer<typeof imagePart>;
export type WireFile = z.infer<typeof filePart>;
export type WireFunctionTool = z.infer<typeof functionTool>;
export type WireCustomTool = z.infer<typeof customTool>;
export type WireTextFormat = z.infer<typeof textFormat>;
