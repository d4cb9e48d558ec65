import * as z from "zod";
import { TRANSCRIPT_FORMATS } from "../../core/transcription.ts";

/** The schema for the API documentation. `transcription-fields.ts` reads the form itself, while it is forwarded. */
export const transcriptionRequestSchema = z.looseObject({
  file: z.string().meta({
    format: "binary",
    description: "The recording, as a file with its name: its ending tells the server the kind.",
  }),
  model: z
    .string()
    .max(200)
    .optional()
    .describe(
      "The model that transcribes. A missing one, and on the local engine an unknown one, takes the server's first that does.",
    ),
  response_format: z
    .enum(TRANSCRIPT_FORMATS)
    .optional()
    .describe("Unset is `json`. `diarized_json` is for servers that know it."),
  stream: z
    .enum(["true", "false"])
    .optional()
    .describe("Answer as server-sent events; with `json`, `text` and `diarized_json`."),
  language: z.string().optional().describe("Of the recording, such as `en`."),
  prompt: z.string().optional().describe("Words that guide the model."),
  temperature: z.string().optional().describe("A number from 0 to 1, as text."),
  "timestamp_granularities[]": z
    .array(z.enum(["word", "segment"]))
    .optional()
    .describe("With `verbose_json`."),
});

const usage = z
  .union([
    z.looseObject({ type: z.literal("duration"), seconds: z.number() }),
    z.looseObject({
      type: z.literal("tokens"),
      input_tokens: z.number().int(),
      output_tokens: z.number().int(),
      total_tokens: z.number().int(),
    }),
  ])
  .optional();

const words = z.looseObject({ start: z.number(), end: z.number() });

export const transcriptionSchema = z.looseObject({
  text: z.string(),
  usage,
  task: z.string().optional().describe("With `verbose_json`, as all that follows."),
  language: z.string().optional(),
  duration: z.number().optional().describe("Seconds."),
  segments: z.array(words.extend({ text: z.string() })).optional(),
  words: z.array(words.extend({ word: z.string() })).nullish(),
});

export const transcriptEventSchema = z.union([
  z.looseObject({ type: z.literal("transcript.text.delta"), delta: z.string() }),
  z.looseObject({ type: z.literal("transcript.text.done"), text: z.string(), usage }),
]);
