import { z } from "zod";
import { EFFORTS } from "../../core/chat/effort.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { Expression } from "../row-process/row-process.ts";
import type { CheckContext, FieldFault } from "../steps/step-kind.ts";
import { compileAnswerSchema } from "./answer-schema.ts";
import type { ModelName, StepModels } from "./step-models.ts";

const MAX_TEXT = 100_000;

/** A text with `{{ }}` in it. */
export const template = z.string().min(1).max(MAX_TEXT);
export const modelName = z.string().min(1).max(200);
export const concurrency = z.int().min(1).max(32).default(4).describe("Rows at once.");
/** The name of a field of a row. */
export const fieldName = z
  .string()
  .regex(
    /^[\p{L}_][\p{L}\p{N}_ .-]{0,99}$/u,
    "a name of up to 100 letters, digits, '_', '-', '.' and spaces, a letter first",
  )
  .refine((name) => name !== "__proto__", "another name");
// Only JSON is ever read by it.
export const jsonSchema = z.record(z.string(), z.unknown()) as unknown as z.ZodType<JsonObject>;

/** The fields of every kind that asks a chat model. */
export const chatFields = {
  model: modelName.optional().describe("A chat model; unset, the default model."),
  assistant: modelName.optional().describe("An assistant that answers instead of a model."),
  system: template.optional().describe("Instructions before the prompt, with {{ }} for the row."),
  temperature: z.number().min(0).max(2).optional(),
  max_tokens: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .describe("Of the answer, with its thinking."),
  reasoning_effort: z.enum(EFFORTS).optional(),
  concurrency,
};

export interface ChatSettings {
  readonly model?: string | undefined;
  readonly assistant?: string | undefined;
  readonly system?: string | undefined;
  readonly temperature?: number | undefined;
  readonly max_tokens?: number | undefined;
  readonly reasoning_effort?: (typeof EFFORTS)[number] | undefined;
  readonly concurrency: number;
}

/** Returns what of a question is the same for all rows. */
export function questionOf(settings: ChatSettings) {
  return {
    model: settings.assistant ?? settings.model,
    temperature: settings.temperature,
    maxTokens: settings.max_tokens,
    effort: settings.reasoning_effort,
  };
}

/** Returns the texts of a step that a row process checks. */
export function textExpressions(
  texts: Readonly<Record<string, string | undefined>>,
): readonly Expression[] {
  return Object.entries(texts).flatMap(([field, text]) =>
    text === undefined ? [] : [{ field, kind: "text", text } as const],
  );
}

/** Returns what is wrong with the model or assistant of a step. A workflow without a key is reported elsewhere. */
export async function checkChatModel(
  models: StepModels,
  { model, assistant }: ChatSettings,
  { keyId }: Pick<CheckContext, "keyId">,
): Promise<readonly FieldFault[]> {
  if (model !== undefined && assistant !== undefined) {
    return [{ field: "assistant", message: "Name a model or an assistant, not both." }];
  }
  return assistant === undefined
    ? checkModel(models, { keyId, model, kind: "chat" }, "model")
    : checkModel(models, { keyId, model: assistant, kind: "assistant" }, "assistant");
}

export async function checkModel(
  models: StepModels,
  name: ModelName,
  field: string,
): Promise<readonly FieldFault[]> {
  if (name.keyId === null) return [];
  const fault = await models.fault(name);
  // An engine that does not answer now may answer when the workflow runs.
  return fault === undefined || fault.isRetryable ? [] : [{ field, message: fault.message }];
}

/** Returns what is wrong with the schema of a step's answers. */
export function checkSchema(schema: JsonObject | undefined): readonly FieldFault[] {
  if (schema === undefined) return [];
  try {
    compileAnswerSchema(schema);
    return [];
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : "It cannot be used.";
    return [{ field: "schema", message: `The schema cannot be used: ${message}` }];
  }
}
