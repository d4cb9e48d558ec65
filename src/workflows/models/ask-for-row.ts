import type {
  ChatMessage,
  ChatRequest,
  GenerationParameters,
} from "../../core/chat/chat-request.ts";
import type { Effort } from "../../core/chat/effort.ts";
import { parseExactJson } from "../../lib/json/exact-json.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { StepFailure } from "../runs/run.ts";
import type { AnswerFault, CheckAnswer } from "./answer-schema.ts";
import type { StepCall, StepModels } from "./step-models.ts";

/** What a row is asked. */
export interface RowQuestion {
  readonly model: string | undefined;
  readonly system: string | undefined;
  readonly prompt: string;
  readonly temperature?: number | undefined;
  readonly maxTokens?: number | undefined;
  readonly effort?: Effort | undefined;
}

/** The form that answers must have. */
export interface AnswerForm {
  readonly schema: JsonObject;
  readonly check: CheckAnswer;
  /** The engine may hold the model to the schema in its strict form. */
  readonly isStrict?: true;
}

/** Longer answers are not parsed. */
const MAX_ANSWER_CHARACTERS = 256 * 1024;
const FENCE = "```";

/** Asks for a text. Rejects with a `StepFailure`. */
export async function askForText(
  models: StepModels,
  call: StepCall,
  question: RowQuestion,
): Promise<string> {
  const { text } = await ask(models, call, requestOf(question, undefined));
  return text;
}

/**
 * Asks for JSON of a form. An answer of another form is asked for again once, with what is wrong with it. Rejects with
 * a `StepFailure`: `invalid_answer`, without a word of the answer, after the second one.
 */
export async function askForJson(
  models: StepModels,
  call: StepCall,
  question: RowQuestion,
  form: AnswerForm,
): Promise<JsonValue> {
  const request = requestOf(question, form);
  const first = await ask(models, call, request);
  const read = readAnswer(first, form.check);
  if (read.fault === undefined) return read.value;
  const again = await ask(models, call, repairOf(request, first.text, read.fault));
  const repaired = readAnswer(again, form.check);
  if (repaired.fault === undefined) return repaired.value;
  throw new StepFailure(
    "invalid_answer",
    `The model's answer does not match the schema, and neither does its repair: ${repaired.fault.forOwner}.`,
  );
}

interface Answer {
  readonly text: string;
  readonly isCut: boolean;
}

async function ask(models: StepModels, call: StepCall, request: ChatRequest): Promise<Answer> {
  const { answer } = await models.chat(call, request);
  let text = "";
  for (const block of answer.blocks) {
    if (block.kind === "refusal") {
      throw new StepFailure("refused", "The model refused to answer. Change the prompt.");
    }
    if (block.kind === "text") text += block.text;
  }
  return { text, isCut: answer.finish.reason === "length" };
}

type ReadAnswer =
  | { readonly value: JsonValue; readonly fault?: undefined }
  | { readonly fault: AnswerFault };

function readAnswer({ text, isCut }: Answer, check: CheckAnswer): ReadAnswer {
  if (text.length > MAX_ANSWER_CHARACTERS) {
    return faulty(`it is longer than ${MAX_ANSWER_CHARACTERS} characters`);
  }
  const trimmed = text.trim();
  let value: JsonValue;
  try {
    value = parseExactJson(withoutFence(trimmed));
  } catch {
    return faulty(isCut ? "it was cut at the most tokens; raise `max_tokens`" : "it is not JSON");
  }
  const fault = check(value);
  return fault === undefined ? { value } : { fault };
}

/** Without the marks of a code block, which some models put around JSON. */
function withoutFence(text: string): string {
  if (!text.startsWith(FENCE) || !text.endsWith(FENCE)) return text;
  const lineEnd = text.indexOf("\n");
  const language = text.slice(FENCE.length, Math.max(lineEnd, FENCE.length)).trim();
  const isBlock = lineEnd >= 0 && (language === "" || language === "json");
  return isBlock ? text.slice(lineEnd + 1, -FENCE.length) : text;
}

function faulty(text: string): ReadAnswer {
  return { fault: { forModel: text, forOwner: text } };
}

function requestOf(question: RowQuestion, form: AnswerForm | undefined): ChatRequest {
  const { model, system, prompt, temperature, maxTokens, effort } = question;
  // Not every engine holds a model to a schema, and those that do answer better when the model has read it.
  const instructions = [
    system,
    form && `Answer only with JSON that matches this JSON Schema: ${JSON.stringify(form.schema)}`,
  ].filter((text) => text !== undefined && text !== "");
  const messages: ChatMessage[] = [{ role: "user", content: [{ type: "text", text: prompt }] }];
  if (instructions.length > 0) {
    messages.unshift({
      role: "system",
      content: [{ type: "text", text: instructions.join("\n\n") }],
    });
  }
  const parameters: GenerationParameters = {
    ...(temperature !== undefined && { temperature }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(form !== undefined && { responseFormat: responseFormatOf(form) }),
  };
  return { model, messages, tools: [], parameters, stream: false, ...(effort && { effort }) };
}

function responseFormatOf({ schema, isStrict }: AnswerForm) {
  return { type: "json_schema", name: "answer", schema, strict: isStrict ?? false } as const;
}

function repairOf(request: ChatRequest, answer: string, fault: AnswerFault): ChatRequest {
  const text = `This answer does not match the schema: ${fault.forModel}. Answer again, only with the corrected JSON.`;
  return {
    ...request,
    messages: [
      ...request.messages,
      // No format takes an empty answer.
      { role: "assistant", content: [{ type: "text", text: answer === "" ? "{}" : answer }] },
      { role: "user", content: [{ type: "text", text }] },
    ],
  };
}
