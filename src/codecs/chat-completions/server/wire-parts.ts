import * as z from "zod";

// The content parts of a message.

export const textPart = z.looseObject({ type: z.literal("text"), text: z.string() });

export const imagePart = z.looseObject({
  type: z.literal("image_url"),
  image_url: z
    .union([z.looseObject({ url: z.string(), detail: z.string().nullish() }), z.string()])
    .describe("An `http(s)` address or a base64 `data:` URL."),
});

export const audioPart = z.looseObject({
  type: z.literal("input_audio"),
  input_audio: z.looseObject({
    data: z.string().describe("Base64."),
    format: z.string().describe("`wav` or `mp3`."),
  }),
});

export const refusalPart = z.looseObject({ type: z.literal("refusal"), refusal: z.string() });

/** Reasoning in the form in which Mistral's clients send it back. */
export const thinkingPart = z.looseObject({
  type: z.literal("thinking"),
  thinking: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
});

const fileContent = z.looseObject({
  file_data: z
    .string()
    .nullish()
    .describe("A base64 `data:` URL of a document, such as a PDF, or its `http(s)` address."),
  filename: z.string().nullish(),
  file_id: z.string().nullish().describe("Refused: files are not stored here."),
});

export const filePart = z.looseObject({ type: z.literal("file"), file: fileContent });

export type WirePart = z.infer<
  | typeof textPart
  | typeof imagePart
  | typeof audioPart
  | typeof filePart
  | typeof refusalPart
  | typeof thinkingPart
>;
export type WireImage = z.infer<typeof imagePart>["image_url"];
export type WireFile = z.infer<typeof fileContent>;
