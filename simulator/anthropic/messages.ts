import { type Call, sendJson } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import { composeCloudAnswer } from "../content/compose-cloud-answer.ts";
import { alphanumeric } from "../content/random.ts";
import { countPromptTokens } from "../content/render-prompt.ts";
import { type Failure, speak, speakWhole } from "../content/speak.ts";
import type { Turn } from "../content/turn.ts";
import { type Json, numberOf, objectOf, objectsOf, parseJson } from "../json.ts";
import type { Usage } from "../ledger.ts";
import type { Model } from "../models.ts";
import type { Script } from "../script.ts";
import { anthropicError, invalid } from "./anthropic-error.ts";
import { traitsOf } from "./anthropic-models.ts";
import { checkFields, checkNumbers } from "./check-body.ts";
import { checkCacheMarks, checkMessages } from "./check-messages.ts";
import { checkThinking, type Thinking } from "./check-thinking.ts";
import { checkTools } from "./check-tools.ts";
import { findAnthropicModel } from "./find-anthropic-model.ts";
import { type MessageBlock, messageBlocks } from "./message-blocks.ts";
import { frameEvent, type MessageEnd, messagesFrames, renderUsage } from "./messages-frames.ts";
import { readMessagesTurn } from "./read-messages-turn.ts";

/** Handles POST /v1/messages. */
export async function messages(call: Call): Promise<void> {
  const { entry, script } = call;
  const model = findAnthropicModel(call);
  checkFields(call);
  checkMaxTokens(call.body, model);
  const { thinking, turn } = readChecked(call, model);
  checkContext(turn);
  const answer = composeCloudAnswer(call, turn, (random) => `toolu_01${alphanumeric(random, 22)}`);
  const { usage } = answer;
  const blocks = messageBlocks(call, answer, thinking);
  const end = endOf(answer, script);
  const head = {
    model: model.name,
    id: `msg_01${entry.id.replace(/\W/g, "")}`,
    type: "message",
    role: "assistant",
  };
  const failure = failureOf(call);
  if (!turn.stream) {
    const content = blocks.map(renderBlock);
    const figures = usage ? { usage: messageUsage(usage) } : {};
    return speakWhole(call, { ...head, content, ...end, ...figures }, usage, failure);
  }
  const begun = usage && { ...usage, outputTokens: 1, reasoningTokens: 0 };
  const opening = begun ? { usage: messageUsage(begun) } : {};
  const unended = { stop_reason: null, stop_sequence: null, stop_details: null };
  await speak(call, {
    contentType: "text/event-stream; charset=utf-8",
    frames: messagesFrames({
      head: { ...head, content: [], ...unended, ...opening },
      blocks,
      end,
      usage,
      script,
    }),
    frameLine: (line) => `event: ${typeOf(line)}\ndata: ${line}\n\n`,
    frameError: (body) => {
      const { type: _, ...rest } = objectOf(body ?? failure.body) ?? {};
      return frameEvent("error", rest);
    },
  });
}

/** Handles POST /v1/messages/count_tokens. */
export function countTokens(call: Call): Promise<void> {
  const model = findAnthropicModel(call);
  checkFields(call, ["max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences"]);
  const { turn } = readChecked(call, model);
  return sendJson(call, 200, { input_tokens: countPromptTokens(turn.messages, turn.tools) });
}

function readChecked(call: Call, model: Model): { thinking: Thinking; turn: Turn } {
  const { body } = call;
  const traits = traitsOf(model);
  checkNumbers(body);
  const thinking = checkThinking(body, traits);
  checkTools(body, traits);
  checkMessages(body, traits, thinking);
  checkCacheMarks(body);
  for (const block of objectsOf(body["system"])) {
    if (block["text"] === "") throw invalid("system: text content blocks must be non-empty");
  }
  return { thinking, turn: readMessagesTurn(body, model, thinking.thinks) };
}

function checkMaxTokens(body: Json, model: Model): void {
  const given = body["max_tokens"];
  if (given === undefined) throw invalid("max_tokens: Field required");
  const maxTokens = numberOf(given);
  if (maxTokens === undefined || !Number.isInteger(maxTokens)) {
    throw invalid("max_tokens: Input should be a valid integer");
  }
  if (maxTokens < 1) throw invalid("max_tokens: Input should be greater than or equal to 1");
  const { maxOutputTokens } = traitsOf(model);
  if (maxTokens > maxOutputTokens) {
    throw invalid(
      `max_tokens: ${maxTokens} > ${maxOutputTokens}, which is the maximum allowed number of output tokens for ${model.name}`,
    );
  }
  const stop = body["stop_sequences"];
  const isBlank = (word: unknown) => typeof word !== "string" || word.trim() === "";
  if (Array.isArray(stop) && stop.some(isBlank)) {
    throw invalid("stop_sequences: each stop sequence must contain non-whitespace");
  }
}

function checkContext({ maxTokens = 0, messages: said, model, tools }: Turn): void {
  const promptTokens = countPromptTokens(said, tools);
  const limit = model.contextLength;
  if (promptTokens > limit) {
    throw invalid(`prompt is too long: ${promptTokens} tokens > ${limit} maximum`);
  }
  if (promptTokens + maxTokens > limit) {
    throw invalid(
      `input length and \`max_tokens\` exceed context limit: ${promptTokens} + ${maxTokens} > ${limit}, decrease input length or \`max_tokens\` and try again`,
    );
  }
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
  content_filter: "refusal",
};

function endOf(answer: Answer, script: Script | undefined): MessageEnd {
  if (script?.refusal !== undefined || script?.blocked !== undefined) {
    const explanation =
      script.refusal ?? "This request triggered restrictions on violative content.";
    const stop_details = { type: "refusal", category: "cyber", explanation };
    return { stop_reason: "refusal", stop_sequence: null, stop_details };
  }
  const { finishReason, stopReason, toolCalls } = answer;
  if (stopReason !== null) {
    return { stop_reason: "stop_sequence", stop_sequence: stopReason, stop_details: null };
  }
  const isCall = toolCalls.length > 0 && finishReason === "stop";
  const reason = isCall ? "tool_use" : (stopReasons[finishReason] ?? finishReason);
  return { stop_reason: reason, stop_sequence: null, stop_details: null };
}

function renderBlock(block: MessageBlock): Json {
  switch (block.type) {
    case "thinking":
      return { type: "thinking", thinking: block.pieces.join(""), signature: block.signature };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: block.data };
    case "text":
      return { type: "text", text: block.pieces.join("").repeat(block.repeat) };
    case "tool_use": {
      const input = objectOf(parseJson(block.text)) ?? {};
      return { type: "tool_use", id: block.id, name: block.name, input };
    }
  }
}

function messageUsage(usage: Usage): Json {
  const written = usage.cacheWriteTokens ?? 0;
  return {
    ...renderUsage(usage),
    cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    service_tier: "standard",
    inference_geo: "not_available",
  };
}

function failureOf({ entry }: Call): Failure {
  const { body, status } = anthropicError(529, "overloaded_error", "Overloaded");
  return { status, body: { ...objectOf(body), request_id: `req_${entry.id}` } };
}

function typeOf(line: string): string {
  return /"type":\s*"([^"]+)"/.exec(line)?.[1] ?? "message";
}
