import type { Answer } from "../content/answer.ts";
import type { ToolCall } from "../content/choose-tool-calls.ts";
import { logProbability } from "../content/log-probabilities.ts";
import type { Frame } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Json } from "../json.ts";
import type { Usage } from "../ledger.ts";
import type { Script } from "../script.ts";
import type { ChatStyle } from "./chat-style.ts";

export interface ChatSpeech {
  readonly style: ChatStyle;
  readonly finishReason: string;
  /** The request asked for usage in the stream. */
  readonly wantsUsage: boolean;
  readonly topLogprobs: number | undefined;
  readonly script: Script | undefined;
}

type Write = (delta: Json, tokens?: number, rest?: Json) => Frame;

/** Yields the events of a streamed chat completion in the vendor's style. */
export function* chatFrames(answer: Answer, speech: ChatSpeech): Iterable<Frame> {
  const { style } = speech;
  let tail = { ...style.tail, ...style.openingTail };
  const write: Write = (delta, tokens = 0, rest = {}) => {
    const choice = { index: 0, delta, ...style.choice, ...rest };
    const bytes = chunkOf(style, [choice], tail);
    tail = style.tail;
    return { bytes, tokens };
  };
  let written = 0;
  for (const frame of contentFrames(answer, speech, write)) {
    yield withComment(frame, style, written);
    written += 1;
  }
  yield* endFrames(answer, speech);
  yield { bytes: "data: [DONE]\n\n", tokens: 0, isTerminal: true };
}

function chunkOf(style: ChatStyle, choices: readonly Json[], tail: Json): string {
  return `data: ${JSON.stringify({ ...style.head, choices, ...tail })}\n\n`;
}

function withComment(frame: Frame, { comment }: ChatStyle, index: number): Frame {
  if (!comment || index % comment.every !== 0) return frame;
  return { ...frame, bytes: `: ${comment.text}\n\n${frame.bytes}` };
}

function* contentFrames(answer: Answer, speech: ChatSpeech, write: Write): Iterable<Frame> {
  const { script, style } = speech;
  const calls = style.toolCalls === "with-finish" ? [] : answer.toolCalls;
  const opensWithCall = answer.text.length === 0 && calls.length > 0 && style.openingWithCall;
  if (!opensWithCall) yield write(style.opening);
  if (style.reasoningDelta) {
    for (const piece of answer.reasoning) yield write(style.reasoningDelta(piece), count(piece));
  }
  for (let round = 0; round < answer.repeat; round += 1) {
    for (const piece of answer.text) {
      yield write(style.textDelta(piece), count(piece), logprobs(speech, piece));
    }
  }
  if (script?.refusal !== undefined) yield write({ refusal: script.refusal });
  const [first, ...others] = callDeltasOf(calls, speech);
  if (first && opensWithCall) {
    yield write({ ...style.openingWithCall, ...first.delta }, first.tokens);
  } else if (first) yield write(first.delta, first.tokens);
  for (const { delta, tokens } of others) yield write(delta, tokens);
}

const count = (piece: string) => (piece.length <= 3 ? 1 : tokenize(piece).length);

function logprobs({ topLogprobs }: ChatSpeech, piece: string): Json {
  if (topLogprobs === undefined) return {};
  const content = tokenize(piece).map((token) => logProbability(token, topLogprobs));
  return { logprobs: { content, refusal: null } };
}

interface CallDelta {
  readonly delta: Json;
  readonly tokens: number;
}

function callDeltasOf(calls: readonly ToolCall[], { script, style }: ChatSpeech): CallDelta[] {
  const perCall = calls.map((call, index) => callDeltas(call, index, { script, style }));
  if (!script?.interleaveToolCalls) return perCall.flat();
  const longest = Math.max(0, ...perCall.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) =>
    perCall.flatMap((deltas) => deltas.slice(at, at + 1)),
  ).flat();
}

function callDeltas(
  call: ToolCall,
  index: number,
  { script, style }: Pick<ChatSpeech, "script" | "style">,
): CallDelta[] {
  const { arguments: text } = call;
  if (style.toolCalls === "whole") {
    return [{ delta: { tool_calls: [style.callOf(call, index)] }, tokens: count(text) }];
  }
  const length = script?.argumentCharacters ?? (text.length || 1);
  const opening = style.callOf({ ...call, arguments: "" }, index);
  const deltas: CallDelta[] = [{ delta: { tool_calls: [opening] }, tokens: 0 }];
  for (let at = 0; at < text.length; at += length) {
    const piece = text.slice(at, at + length);
    const delta = { tool_calls: [{ index, function: { arguments: piece } }] };
    deltas.push({ delta, tokens: count(piece) });
  }
  return deltas;
}

function* endFrames(answer: Answer, speech: ChatSpeech): Iterable<Frame> {
  const { finishReason, script, style, wantsUsage } = speech;
  const { toolCalls, usage } = answer;
  const ridesOnFinish = style.usage === "finish" || script?.usageOnFinish === true;
  const calls =
    style.toolCalls === "with-finish" && toolCalls.length > 0
      ? { tool_calls: toolCalls.map(style.callOf) }
      : {};
  const delta = { ...style.finishDelta, ...calls };
  const choice = { index: 0, delta, ...style.choice, finish_reason: finishReason };
  const told: Usage | null = ridesOnFinish ? usage : null;
  const figures = told ? { usage: style.renderUsage(told) } : {};
  const tail = { ...style.tail, ...figures, ...style.finishTail(usage) };
  const tokens = toolCalls.reduce((sum, call) => sum + count(call.arguments), 0);
  yield {
    bytes: chunkOf(style, [choice], tail),
    tokens: "tool_calls" in calls ? tokens : 0,
    tells: told ?? undefined,
  };
  const hasOwnChunk = style.usage === "always" || (style.usage === "asked" && wantsUsage);
  if (!usage || ridesOnFinish || !hasOwnChunk) return;
  const last = { ...style.tail, usage: style.renderUsage(usage) };
  yield { bytes: chunkOf(style, style.usageChoices, last), tokens: 0, tells: usage };
}
