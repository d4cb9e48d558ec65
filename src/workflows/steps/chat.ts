import { z } from "zod";
import type { JsonObject } from "../../lib/json/json.ts";
import { compileAnswerSchema } from "../models/answer-schema.ts";
import { askForJson, askForText } from "../models/ask-for-row.ts";
import { eachRowWithTexts } from "../models/each-row.ts";
import {
  type ChatSettings,
  chatFields,
  checkChatModel,
  checkSchema,
  fieldName,
  jsonSchema,
  questionOf,
  template,
  textExpressions,
} from "../models/model-fields.ts";
import { textWithField } from "../rows/row.ts";
import { defineStepKind } from "./step-kind.ts";
import type { StepServices } from "./step-services.ts";

interface Chat extends ChatSettings {
  readonly prompt: string;
  readonly schema?: JsonObject | undefined;
  readonly output: string;
}

const schema = z.strictObject({
  ...chatFields,
  prompt: template.describe("The question, with {{ }} for the row."),
  schema: jsonSchema
    .optional()
    .describe("JSON Schema of the answer, which is then JSON. Without it the answer is a text."),
  output: fieldName.default("answer").describe("The field that gets the answer."),
});

/** Asks a model or an assistant for each row. */
export function chatStep({ models, rowProcess }: StepServices) {
  return defineStepKind<Chat>({
    kind: "chat",
    group: "model",
    label: "Ask a model",
    help: "Asks a model or an assistant a question about each row and puts the answer into a field.",
    example: {
      prompt: "Summarize this ticket in one sentence: {{ row.text }}",
      output: "summary",
    },
    schema,
    needsKey: true,
    expressions: ({ prompt, system }) => textExpressions({ prompt, system }),
    check: async (settings, context) => [
      ...checkSchema(settings.schema),
      ...(await checkChatModel(models, settings, context)),
    ],
    async run(context) {
      const { settings } = context;
      const { prompt, system, output, concurrency } = settings;
      const form = settings.schema && {
        schema: settings.schema,
        check: compileAnswerSchema(settings.schema),
      };
      await eachRowWithTexts({ rowProcess }, context, {
        concurrency,
        texts: { prompt, system },
        async work({ row, signal }, texts) {
          const { run, addUsage } = context;
          const call = { run, signal, addUsage };
          const question = {
            ...questionOf(settings),
            system: texts["system"],
            prompt: texts["prompt"] ?? "",
          };
          const answer =
            form === undefined
              ? await askForText(models, call, question)
              : await askForJson(models, call, question, form);
          return [textWithField(row, output, JSON.stringify(answer))];
        },
      });
      return undefined;
    },
  });
}
