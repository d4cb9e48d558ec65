import { type Call, sendJson } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import { composeCloudAnswer } from "../content/compose-cloud-answer.ts";
import { hexadecimal } from "../content/random.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import { type Failure, speak, speakWhole } from "../content/speak.ts";
import type { Turn } from "../content/turn.ts";
import { type Json, objectOf } from "../json.ts";
import type { Model } from "../models.ts";
import type { Script } from "../script.ts";
import { checkContents } from "./check-contents.ts";
import { checkGeneration } from "./check-generation.ts";
import { checkTools } from "./check-tools.ts";
import { type ContentSettings, closingPart, contentChunks, joinParts } from "./content-chunks.ts";
import { contentFrames, figures } from "./content-frames.ts";
import { geminiError, invalid } from "./gemini-error.ts";
import { requestShape } from "./gemini-fields.ts";
import { traitsOf } from "./gemini-models.ts";
import { readContentsTurn } from "./read-contents-turn.ts";
import { readFields } from "./read-fields.ts";

/** Google's error when its own server is overloaded. */
const failure: Failure = {
  status: 503,
  body: geminiError(503, "UNAVAILABLE", {
    message: "The model is overloaded. Please try again later.",
  }).body,
};

/** Handles POST models/{id}:generateContent and :streamGenerateContent. */
export async function generateContent(call: Call, model: Model, stream: boolean): Promise<void> {
  const { entry, exchange, script } = call;
  const { body, turn } = readChecked(call.body, model, stream);
  const head = { modelVersion: model.name, responseId: entry.id };
  if (script?.blocked === "prompt") return sayBlocked(call, turn, head);
  const answer = composeCloudAnswer(call, turn, (random) => hexadecimal(random, 8), [
    "cachedTokens",
    "reasoningTokens",
  ]);
  const settings = settingsOf(call, body, turn);
  const chunks = contentChunks(answer, settings);
  const finishReason = finishReasonOf(answer, script);
  if (!stream) {
    const parts = joinParts(chunks);
    if (settings.seals && answer.toolCalls.length === 0 && parts.length > 0) {
      const { thoughtSignature } = closingPart(answer, settings);
      parts[parts.length - 1] = { ...parts.at(-1), thoughtSignature };
    }
    const content = parts.length > 0 ? { parts, role: "model" } : { role: "model" };
    const candidate = { content, finishReason, index: 0 };
    const value = { candidates: [candidate], ...figures(answer.usage), ...head };
    return speakWhole(call, value, answer.usage, failure);
  }
  const framing = exchange.request.query.get("alt") === "sse" ? sseFraming : arrayFraming;
  const frames = contentFrames({ answer, chunks, settings, finishReason, head, ...framing });
  await speak(call, { ...framing.speech, frames });
}

/** Handles POST models/{id}:countTokens. */
export function countTokens(call: Call, model: Model): Promise<void> {
  const { contents, generateContentRequest } = call.body;
  const whole = objectOf(generateContentRequest) ?? { contents };
  const { turn } = readChecked(whole, model, false);
  const totalTokens = countPromptTokens(turn.messages, turn.tools);
  const promptTokensDetails = [{ modality: "TEXT", tokenCount: totalTokens }];
  return sendJson(call, 200, { totalTokens, promptTokensDetails });
}

function readChecked(
  received: Json,
  model: Model,
  stream: boolean,
): { readonly body: Json; readonly turn: Turn } {
  const body = readFields(received, requestShape);
  checkContents(body["contents"], traitsOf(model));
  checkTools(body, traitsOf(model));
  const thinks = checkGeneration(objectOf(body["generationConfig"]) ?? {}, model);
  const turn = readContentsTurn(body, model, { stream, thinks });
  const promptTokens = countPromptTokens(turn.messages, turn.tools);
  if (promptTokens > model.contextLength) {
    throw invalid(
      `The input token count (${promptTokens}) exceeds the maximum number of tokens allowed (${model.contextLength}).`,
    );
  }
  return { body, turn };
}

function settingsOf({ script }: Call, body: Json, { model, thinks, tools }: Turn): ContentSettings {
  const thinkingConfig = objectOf(objectOf(body["generationConfig"])?.["thinkingConfig"]);
  const includesThoughts = thinkingConfig?.["includeThoughts"] === true;
  const isScripted = script?.reasoning !== undefined && script.redactedReasoning !== true;
  const seals = traitsOf(model).needsSignature || (thinks && tools.length > 0);
  return { includesThoughts: includesThoughts || isScripted, seals };
}

const finishReasons: Readonly<Record<string, string>> = {
  stop: "STOP",
  tool_calls: "STOP",
  length: "MAX_TOKENS",
  content_filter: "SAFETY",
};

function finishReasonOf({ finishReason }: Answer, script: Script | undefined): string {
  if (script?.blocked === "answer" || script?.refusal !== undefined) return "SAFETY";
  return finishReasons[finishReason] ?? finishReason;
}

/** Answers a prompt that the filter blocked: feedback without a candidate. */
function sayBlocked(call: Call, turn: Turn, head: Json): Promise<void> {
  const inputTokens = countPromptTokens(turn.messages, turn.tools);
  const usage = { inputTokens, outputTokens: 0 };
  const promptFeedback = { blockReason: "PROHIBITED_CONTENT" };
  const value = { promptFeedback, ...figures(usage), ...head };
  if (!turn.stream) return speakWhole(call, value, usage, failure);
  const framing = call.exchange.request.query.get("alt") === "sse" ? sseFraming : arrayFraming;
  const bytes = framing.frame(value, 0) + framing.closing;
  const frames = [{ bytes, tokens: 0, tells: usage, isTerminal: true }];
  return speak(call, { ...framing.speech, frames });
}

const sseFraming = {
  frame: (value: Json) => `data: ${JSON.stringify(value)}\r\n\r\n`,
  closing: "",
  speech: {
    contentType: "text/event-stream",
    frameLine: (line: string) => `data: ${line}\r\n\r\n`,
    frameError: (body: unknown) => `data: ${JSON.stringify(body ?? failure.body)}\r\n\r\n`,
  },
};

/** Without `alt=sse` the stream is one array, written piece by piece. */
const arrayFraming = {
  frame: (value: Json, index: number) => `${index === 0 ? "[" : ",\r\n"}${JSON.stringify(value)}`,
  closing: "]",
  speech: {
    contentType: "application/json; charset=UTF-8",
    frameLine: (line: string) => `,\r\n${line}`,
    frameError: (body: unknown) => `,\r\n${JSON.stringify(body ?? failure.body)}]`,
  },
};
