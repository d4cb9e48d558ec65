import * as z from "zod";

export const MAX_INPUTS = 2_048;

const tokens = z.array(z.number().int().nonnegative()).min(1);

/**
 * The schema for the API documentation. `parse-request.ts` checks the input itself, because a schema is too slow for
 * lists of a million tokens.
 */
export const embeddingRequestSchema = z.looseObject({
  input: z
    .union([
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(MAX_INPUTS),
      tokens,
      z.array(tokens).min(1).max(MAX_INPUTS),
    ])
    .describe(
      `A text, the tokens of one, or a list of either with at most ${MAX_INPUTS} entries. Ollama takes texts alone.`,
    ),
  model: z
    .string()
    .nullish()
    .describe(
      "An embedding model. For a missing or unknown name the default embedding model answers.",
    ),
  encoding_format: z
    .enum(["float", "base64"])
    .nullish()
    .describe("`base64` is that of the vector's little-endian float32 bytes; unset is `float`."),
  dimensions: z
    .number()
    .int()
    .min(1)
    .nullish()
    .describe("Numbers a vector is to have, for models that can be shortened."),
  user: z.string().nullish().describe("The client's name for its user; handed to the engine."),
});

const count = z.number().int().nonnegative();

export const embeddingListSchema = z.object({
  object: z.literal("list"),
  data: z.array(
    z.object({
      object: z.literal("embedding"),
      index: count.describe("The place of its input."),
      embedding: z.union([z.array(z.number()), z.string().describe("Base64.")]),
    }),
  ),
  model: z.string().describe("The id of the model that truly answered."),
  usage: z.object({ prompt_tokens: count, total_tokens: count }),
});
