import type { Answer } from "../content/answer.ts";
import type { ToolCall } from "../content/choose-tool-calls.ts";
import { logProbability } from "../content/log-probabilities.ts";
import type { Frame } from "../content/speak.ts";
import { tokenize } from "../content/tokenizer.ts";
import type { Turn } from "../content/turn.ts";
import type { Usage } from "../ledger.ts";
import type { Script } from "../script.ts";

export interface ChatIdentity {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  /** The field for reasoning; null puts it into the content, between tags. */
  readonly reasoningField: "reasoning" | "reasoning_content" | null;
  readonly includeUsage: boolean;
  readonly script: Script | undefined;
}

/** Yields the events of a streamed chat completion as vLLM writes them. */
export function* chatFrames(turn: Turn, answer: Answer, identity: ChatIdentity): Iterable<Frame> {
  const { created, id } = identity;
  const head = { id, object: "chat.completion.chunk", created, model: turn.model.name };
  const prefix = `data: ${JSON.stringify(head).slice(0, -1)},"choices":[{"index":0,"delta":`;
  const frame = (
    delta: string,
    tokens = 1,
    rest = '"logprobs":null,"finish_reason":null',
  ): Frame => ({
    bytes: `${prefix}${delta},${rest}}]}\n\n`,
    tokens,
  });
  yield frame('{"role":"assistant","content":""}', 0);
  yield* reasoningFrames(answer.reasoning, identity, frame);
  for (let round = 0; round < answer.repeat; round += 1) {
    for (const piece of answer.text) {
      yield frame(
        `{"content":${JSON.stringify(piece)}}`,
        countTokens(piece),
        logprobs(turn, piece),
      );
    }
  }
  yield* toolCallFrames(answer.toolCalls, identity.script, frame);
  yield* endFrames(answer, head, identity);
}

type MakeFrame = (delta: string, tokens?: number, rest?: string) => Frame;

const countTokens = (piece: string) => (piece.length <= 3 ? 1 : tokenize(piece).length);

function logprobs({ topLogprobs }: Turn, piece: string): string | undefined {
  if (topLogprobs === undefined) return undefined;
  const content = tokenize(piece).map((token) => logProbability(token, topLogprobs));
  return `"logprobs":${JSON.stringify({ content })},"finish_reason":null`;
}

function* reasoningFrames(
  pieces: readonly string[],
  { reasoningField }: ChatIdentity,
  frame: MakeFrame,
): Iterable<Frame> {
  if (pieces.length === 0) return;
  const field = reasoningField ?? "content";
  if (reasoningField === null) yield frame('{"content":"<think>\\n"}', 0);
  for (const piece of pieces) {
    yield frame(`{"${field}":${JSON.stringify(piece)}}`, countTokens(piece));
  }
  if (reasoningField === null) yield frame('{"content":"\\n</think>\\n\\n"}', 0);
}

function* toolCallFrames(
  calls: readonly ToolCall[],
  script: Script | undefined,
  frame: MakeFrame,
): Iterable<Frame> {
  const perCall = calls.map((call, index) => callFrames(call, index, { script, frame }));
  if (!script?.interleaveToolCalls) {
    for (const frames of perCall) yield* frames;
    return;
  }
  const longest = Math.max(0, ...perCall.map(({ length }) => length));
  for (let at = 0; at < longest; at += 1) {
    for (const frames of perCall) yield* frames.slice(at, at + 1);
  }
}

function callFrames(
  { id, name, arguments: text }: ToolCall,
  index: number,
  { script, frame }: { script: Script | undefined; frame: MakeFrame },
): Frame[] {
  const opening = { index, id, type: "function", function: { name, arguments: "" } };
  const length = script?.argumentCharacters ?? (text.length || 1);
  const frames = [frame(JSON.stringify({ tool_calls: [opening] }), 0)];
  for (let at = 0; at < text.length; at += length) {
    const piece = text.slice(at, at + length);
    const delta = { tool_calls: [{ index, function: { arguments: piece } }] };
    frames.push(frame(JSON.stringify(delta), countTokens(piece)));
  }
  return frames;
}

function* endFrames(
  answer: Answer,
  head: object,
  { includeUsage, script }: ChatIdentity,
): Iterable<Frame> {
  const { finishReason, stopReason, usage } = answer;
  const onFinish = usage && script?.usageOnFinish ? usage : undefined;
  const choice = {
    index: 0,
    delta: {},
    logprobs: null,
    finish_reason: finishReason,
    stop_reason: stopReason,
  };
  const chunk = (rest: object) => `data: ${JSON.stringify({ ...head, ...rest })}\n\n`;
  const figures = onFinish ? { usage: renderUsage(onFinish) } : {};
  yield { bytes: chunk({ choices: [choice], ...figures }), tokens: 0, tells: onFinish };
  if (usage && includeUsage && !onFinish) {
    const bytes = chunk({ choices: [], usage: renderUsage(usage) });
    yield { bytes, tokens: 0, tells: usage };
  }
  yield { bytes: "data: [DONE]\n\n", tokens: 0, isTerminal: true };
}

/** Renders vLLM's usage object. */
export function renderUsage(usage: Usage): object {
  const { inputTokens, outputTokens, cachedTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    total_tokens: inputTokens + outputTokens,
    completion_tokens: outputTokens,
    prompt_tokens_details: cachedTokens === undefined ? null : { cached_tokens: cachedTokens },
    ...(reasoningTokens === undefined
      ? {}
      : { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
