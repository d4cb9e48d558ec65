import type { Call } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import { composeAnswer } from "../content/compose-answer.ts";
import { logProbability } from "../content/log-probabilities.ts";
import { speak, speakWhole } from "../content/speak.ts";
import { tellUsage } from "../content/tell-usage.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Turn } from "../content/turn.ts";
import { objectOf } from "../json.ts";
import { type ChatIdentity, chatFrames, renderUsage } from "./chat-frames.ts";
import { readTurn } from "./read-turn.ts";

const defaultError = {
  error: {
    message: "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    type: "InternalServerError",
    param: null,
    code: 500,
  },
};

/** Handles POST /v1/chat/completions. */
export async function chat(call: Call): Promise<void> {
  const { body, entry, options, prefixCache, script } = call;
  const turn = readTurn(call);
  const source = { seed: options.seed, sequence: entry.sequence };
  entry.cachedTokens = prefixCache.admit(turn);
  const told = options.promptTokensDetails ? entry.cachedTokens : undefined;
  const composed = tellUsage(call, composeAnswer(turn, source, script), told);
  const showsReasoning = body["include_reasoning"] !== false;
  const answer = showsReasoning ? composed : { ...composed, reasoning: [] };
  const identity: ChatIdentity = {
    id: `chatcmpl-${entry.id}`,
    created: Math.floor(Date.now() / 1000),
    reasoningField: reasoningField(call),
    includeUsage: objectOf(body["stream_options"])?.["include_usage"] === true,
    script,
  };
  if (!turn.stream) return speakWhole(call, wholeAnswer(turn, answer, identity), answer.usage);
  await speak(call, {
    contentType: "text/event-stream; charset=utf-8",
    frames: chatFrames(turn, answer, identity),
    frameLine: (line) => `data: ${line}\n\n`,
    frameError: (error) => `data: ${JSON.stringify(error ?? defaultError)}\n\ndata: [DONE]\n\n`,
  });
}

function reasoningField({ options }: Call): ChatIdentity["reasoningField"] {
  if (!options.reasoningParser) return null;
  return options.legacy ? "reasoning_content" : "reasoning";
}

function wholeAnswer(turn: Turn, answer: Answer, identity: ChatIdentity): object {
  const { usage, finishReason, stopReason } = answer;
  const choice = {
    index: 0,
    message: message(answer, identity),
    logprobs: logprobs(turn, answer),
    finish_reason: finishReason,
    stop_reason: stopReason,
    token_ids: null,
  };
  return {
    id: identity.id,
    object: "chat.completion",
    created: identity.created,
    model: turn.model.name,
    choices: [choice],
    service_tier: null,
    system_fingerprint: null,
    ...(usage ? { usage: renderUsage(usage) } : {}),
    prompt_logprobs: null,
    kv_transfer_params: null,
  };
}

function message(answer: Answer, { reasoningField: field }: ChatIdentity): object {
  const thought = answer.reasoning.join("");
  const said = answer.text.join("").repeat(answer.repeat);
  const isTagged = field === null && thought !== "";
  const content = isTagged ? `<think>\n${thought}\n</think>\n\n${said}` : said;
  const calls = answer.toolCalls.map(({ id, name, arguments: text }) => ({
    id,
    type: "function",
    function: { name, arguments: text },
  }));
  return {
    role: "assistant",
    content: content === "" && calls.length > 0 ? null : content,
    refusal: null,
    annotations: null,
    audio: null,
    function_call: null,
    tool_calls: calls,
    ...(field === null ? {} : { [field]: thought === "" ? null : thought }),
  };
}

function logprobs({ topLogprobs }: Turn, answer: Answer): object | null {
  if (topLogprobs === undefined) return null;
  const tokens = tokenize(answer.text.join(""));
  return { content: tokens.map((token) => logProbability(token, topLogprobs)) };
}
