import { z } from "zod";
import type { Vector } from "../../core/embedding.ts";
import { eachRowWithTexts } from "../models/each-row.ts";
import {
  checkModel,
  fieldName,
  modelName,
  template,
  textExpressions,
} from "../models/model-fields.ts";
import { type BatchedRow, joinRows } from "../models/row-batches.ts";
import type { StepCall, StepModels } from "../models/step-models.ts";
import { textWithField } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

interface Embed {
  readonly text: string;
  readonly model?: string | undefined;
  readonly dimensions?: number | undefined;
  readonly output: string;
  readonly concurrency: number;
}

interface TextRow extends BatchedRow {
  readonly text: string;
}

/** Texts in one request. */
const BATCH_TEXTS = 64;
/** What a smaller request may avoid. */
const TOO_MUCH: ReadonlySet<string> = new Set([
  "context_length_exceeded",
  "invalid_value",
  "request_too_large",
]);

const schema = z.strictObject({
  text: template.describe("What is embedded, with {{ }} for the row."),
  model: modelName.optional().describe("An embedding model; unset, the default one."),
  dimensions: z
    .int()
    .min(1)
    .max(16_384)
    .optional()
    .describe("Numbers in each vector; unset, the model's own."),
  output: fieldName.default("embedding").describe("The field that gets the vector."),
  concurrency: z
    .int()
    .min(1)
    .max(32)
    .default(4)
    .describe("Requests at once, each for up to 64 rows."),
});

/** Adds a vector to each row. */
export function embedStep({ models, rowProcess }: StepServices) {
  return defineStepKind<Embed>({
    kind: "embed",
    group: "model",
    label: "Embed",
    help: "Turns a text of each row into a vector, in requests of many rows.",
    example: { text: "{{ row.text }}" },
    schema,
    needsKey: true,
    expressions: ({ text }) => textExpressions({ text }),
    check: ({ model }, { keyId }) =>
      checkModel(models, { keyId, model, kind: "embeddings" }, "model"),
    async run(context) {
      const { run, addUsage, settings } = context;
      const { text, output, concurrency } = settings;
      const embedJoined = joinRows<TextRow, Vector | StepFailure>(BATCH_TEXTS, (rows, signal) => {
        const texts = rows.map((row) => row.text);
        return embedTexts(models, { run, addUsage, signal }, settings, texts);
      });
      await eachRowWithTexts({ rowProcess }, context, {
        concurrency: concurrency * BATCH_TEXTS,
        texts: { text },
        async work(item, texts) {
          const ofRow = texts["text"] ?? "";
          if (ofRow === "") throw new StepFailure("empty_text", "The text of this row is empty.");
          const vector = await embedJoined({ ...item, text: ofRow });
          if (vector instanceof StepFailure) throw vector;
          return [textWithField(item.row, output, JSON.stringify(numbersOf(vector)))];
        },
      });
      return undefined;
    },
  });
}

/** Embeds texts, in halves where the engine refuses them, until the ones are found that it refuses alone. */
async function embedTexts(
  models: StepModels,
  call: StepCall,
  { model, dimensions }: Embed,
  texts: readonly string[],
): Promise<readonly (Vector | StepFailure)[]> {
  const embedSome = async (some: readonly string[]): Promise<readonly (Vector | StepFailure)[]> => {
    try {
      const request = { model, inputs: some, dimensions, encoding: "float", extra: {} } as const;
      return (await models.embed(call, request)).vectors;
    } catch (thrown) {
      if (!(thrown instanceof StepFailure) || !TOO_MUCH.has(thrown.code)) throw thrown;
      if (some.length === 1) return [thrown];
    }
    const middle = Math.ceil(some.length / 2);
    const first = await embedSome(some.slice(0, middle));
    return [...first, ...(await embedSome(some.slice(middle)))];
  };
  return embedSome(texts);
}

/** An engine may answer in base64 all the same: little-endian floats. */
function numbersOf(vector: Vector): readonly number[] {
  if (typeof vector !== "string") return vector;
  const bytes = Buffer.from(vector, "base64");
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) =>
    bytes.readFloatLE(index * 4),
  );
}
