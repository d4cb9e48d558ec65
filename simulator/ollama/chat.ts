import { type Call, sendJson } from "../call.ts";
import type { Answer } from "../content/answer.ts";
import type { ToolCall } from "../content/choose-tool-calls.ts";
import { composeAnswer } from "../content/compose-answer.ts";
import { logProbability } from "../content/log-probabilities.ts";
import { type Frame, speak, speakWhole } from "../content/speak.ts";
import { tellUsage } from "../content/tell-usage.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Turn } from "../content/turn.ts";
import { objectOf, parseJson, stringOf } from "../json.ts";
import type { Usage } from "../ledger.ts";
import { findLocalModel } from "./find-local-model.ts";
import { readTurn } from "./read-turn.ts";

const NANOSECONDS = 1_000_000;
const defaultError = {
  error: "an error was encountered while running the model: CUDA error: out of memory",
};

/** Handles POST /api/chat. */
export async function chat(call: Call): Promise<void> {
  const { body, entry, options, prefixCache, script } = call;
  if (!Array.isArray(body["messages"]) || body["messages"].length === 0) return load(call);
  const turn = readTurn(call);
  entry.cachedTokens = prefixCache.admit(turn);
  const source = { seed: options.seed, sequence: entry.sequence };
  const answer = tellUsage(call, composeAnswer(turn, source, script));
  const voice: Voice = { call, turn, model: String(body["model"]), startedAt: Date.now() };
  if (!turn.stream) return speakWhole(call, wholeAnswer(voice, answer), answer.usage);
  await speak(call, {
    contentType: "application/x-ndjson",
    frames: chatFrames(voice, answer),
    frameLine: (line) => `${line}\n`,
    frameError: (error) => `${JSON.stringify(error ?? defaultError)}\n`,
  });
}

interface Voice {
  readonly call: Call;
  readonly turn: Turn;
  /** The name as the request gave it. */
  readonly model: string;
  readonly startedAt: number;
}

/** Handles a request without messages: the model is loaded or, with `keep_alive: 0`, unloaded. */
function load(call: Call): Promise<void> {
  findLocalModel(call);
  const reason = call.body["keep_alive"] === 0 ? "unload" : "load";
  return sendJson(call, 200, {
    model: stringOf(call.body["model"]),
    created_at: new Date().toISOString(),
    message: { role: "assistant", content: "" },
    done: true,
    done_reason: reason,
  });
}

function* chatFrames(voice: Voice, answer: Answer): Iterable<Frame> {
  const { turn } = voice;
  const line = (message: object, tokens: number, rest: object = {}): Frame => {
    const created = { model: voice.model, created_at: new Date().toISOString() };
    const said = { message: { role: "assistant", ...message }, done: false, ...rest };
    return { bytes: `${JSON.stringify({ ...created, ...said })}\n`, tokens };
  };
  for (const thinking of answer.reasoning) {
    yield line({ content: "", thinking }, tokenize(thinking).length);
  }
  for (let round = 0; round < answer.repeat; round += 1) {
    for (const content of answer.text) {
      yield line({ content }, tokenize(content).length, logprobs(turn, content));
    }
  }
  const calls = renderCalls(answer.toolCalls, voice);
  if (calls.length > 0) yield line({ content: "", tool_calls: calls }, countCalls(answer));
  yield {
    ...line({ content: "" }, 0, ending(voice, answer)),
    tells: answer.usage ?? undefined,
    isTerminal: true,
  };
}

function wholeAnswer(voice: Voice, answer: Answer): object {
  const thinking = answer.reasoning.join("");
  const content = answer.text.join("").repeat(answer.repeat);
  const calls = renderCalls(answer.toolCalls, voice);
  return {
    model: voice.model,
    created_at: new Date().toISOString(),
    message: {
      role: "assistant",
      content,
      ...(thinking === "" ? {} : { thinking }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    ...logprobs(voice.turn, answer.text.join("")),
    ...ending(voice, answer),
  };
}

function ending({ startedAt }: Voice, { finishReason, usage }: Answer): object {
  const total = (Date.now() - startedAt + 1) * NANOSECONDS;
  return {
    done: true,
    done_reason: finishReason === "tool_calls" ? "stop" : finishReason,
    total_duration: total,
    load_duration: NANOSECONDS,
    ...(usage ? counters(usage, total) : {}),
  };
}

/** Returns the counters; zero counters are omitted, as with Go's `omitempty`. */
function counters({ inputTokens, outputTokens }: Usage, total: number): object {
  return {
    ...(inputTokens > 0 ? { prompt_eval_count: inputTokens } : {}),
    prompt_eval_duration: NANOSECONDS,
    ...(outputTokens > 0 ? { eval_count: outputTokens } : {}),
    eval_duration: total - NANOSECONDS + 1,
  };
}

/** Renders the calls with their arguments as objects; a call that the token limit truncated is omitted. */
function renderCalls(calls: readonly ToolCall[], { call }: Voice): object[] {
  return calls.flatMap(({ id, name, arguments: text }, index) => {
    const value = objectOf(parseJson(text));
    if (!value) return [];
    const definition = { index, name, arguments: value };
    const callId = `call_${id.slice(-8)}`;
    return call.options.legacy
      ? { function: definition }
      : { id: id.startsWith("chatcmpl-tool-") ? callId : id, function: definition };
  });
}

function countCalls({ toolCalls }: Answer): number {
  return toolCalls.reduce((sum, call) => sum + tokenize(call.arguments).length, 0);
}

function logprobs({ topLogprobs }: Turn, text: string): object {
  if (topLogprobs === undefined) return {};
  return { logprobs: tokenize(text).map((token) => logProbability(token, topLogprobs)) };
}
