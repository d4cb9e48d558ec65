import type { Usage } from "../ledger.ts";
import type { Script } from "../script.ts";
import type { Answer } from "./answer.ts";
import { chooseToolCalls, type ToolCall } from "./choose-tool-calls.ts";
import { createRandom, hexadecimal } from "./random.ts";
import { countPromptTokens } from "./render-prompt.ts";
import { tokenize } from "./tokenizer.ts";
import type { Turn } from "./turn.ts";
import { writeReasoning, writeReply } from "./write-reply.ts";

/** What an answer depends on in addition to the request. */
export interface Source {
  readonly seed: string;
  /** The number of the request, which makes tool-call ids unique. */
  readonly sequence: number;
  /** Creates the id of a tool call; default: vLLM's form. */
  readonly newCallId?: (random: () => number) => string;
}

/** Composes the answer to a turn: the same for the same seed and request. Scripted parts are used unchanged. */
export function composeAnswer(turn: Turn, source: Source, script: Script | undefined): Answer {
  const answer = saysSomething(script)
    ? scriptedAnswer(turn, script, source)
    : ownAnswer(turn, source);
  const usage = script?.usage === undefined ? answer.usage : script.usage;
  return { ...answer, usage, finishReason: script?.finishReason ?? answer.finishReason };
}

const sayings = [
  "text",
  "toolCalls",
  "reasoning",
  "refusal",
  "blocked",
  "redactedReasoning",
] as const;

function saysSomething(script: Script | undefined): script is Script {
  return script !== undefined && sayings.some((name) => script[name] !== undefined);
}

function scriptedAnswer(turn: Turn, script: Script, source: Source): Answer {
  const cut = (text = "") => fragments(text, script.fragmentCharacters);
  const newCallId = callIds(turn, source);
  const toolCalls = (script.toolCalls ?? []).map((call) => ({
    id: call.id ?? newCallId(),
    name: call.name,
    arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
  }));
  const repeat = script.repeat ?? 1;
  const told =
    tokenize(script.reasoning ?? "").length + tokenize(script.text ?? "").length * repeat;
  return {
    reasoning: cut(script.reasoning),
    text: cut(script.text),
    repeat,
    toolCalls,
    finishReason: toolCalls.length > 0 ? "tool_calls" : "stop",
    stopReason: script.stopReason ?? null,
    usage: usageOf(turn, told + countCalls(toolCalls)),
  };
}

function callIds(turn: Turn, { seed, sequence, newCallId = vllmCallId }: Source): () => string {
  const random = createRandom(seed, String(sequence), turn.fingerprint);
  return () => newCallId(random);
}

function vllmCallId(random: () => number): string {
  return `chatcmpl-tool-${hexadecimal(random, 32)}`;
}

function ownAnswer(turn: Turn, source: Source): Answer {
  const random = createRandom(source.seed, turn.fingerprint);
  const reasoning = turn.thinks ? tokenize(writeReasoning(turn)) : [];
  const toolCalls = chooseToolCalls(turn, random, callIds(turn, source));
  const reply = toolCalls.length > 0 ? "" : writeReply(turn, random);
  const stopped = cutAtStop(reply, turn.stop);
  const text = tokenize(stopped.text);
  const whole = { reasoning, text, toolCalls, repeat: 1, stopReason: stopped.stopReason };
  return limitTokens(turn, { ...whole, finishReason: finishOf(turn, toolCalls) });
}

function finishOf({ toolChoice }: Turn, calls: readonly ToolCall[]): string {
  return calls.length > 0 && typeof toolChoice !== "object" ? "tool_calls" : "stop";
}

function cutAtStop(
  text: string,
  stop: readonly string[],
): { text: string; stopReason: string | null } {
  let end = text.length;
  let stopReason: string | null = null;
  for (const word of stop) {
    const at = word === "" ? -1 : text.indexOf(word);
    if (at === -1 || at >= end) continue;
    end = at;
    stopReason = word;
  }
  return { text: text.slice(0, end), stopReason };
}

/** Truncates reasoning, then text, then the arguments of calls at the request's token limit. */
function limitTokens(turn: Turn, answer: Omit<Answer, "usage">): Answer {
  const whole = answer.reasoning.length + answer.text.length + countCalls(answer.toolCalls);
  const limit = turn.maxTokens ?? Number.POSITIVE_INFINITY;
  if (whole <= limit) return { ...answer, usage: usageOf(turn, whole) };
  let left = limit;
  const take = (tokens: readonly string[]) => {
    const taken = tokens.slice(0, left);
    left -= taken.length;
    return taken;
  };
  const reasoning = take(answer.reasoning);
  const text = take(answer.text);
  const toolCalls = answer.toolCalls.flatMap((call) =>
    left > 0 ? { ...call, arguments: take(tokenize(call.arguments)).join("") } : [],
  );
  const cut = { reasoning, text, toolCalls, finishReason: "length", stopReason: null };
  return { ...answer, ...cut, usage: usageOf(turn, limit) };
}

function countCalls(calls: readonly ToolCall[]): number {
  return calls.reduce((sum, call) => sum + tokenize(call.arguments).length, 0);
}

function usageOf({ messages, tools }: Turn, outputTokens: number): Usage {
  return { inputTokens: countPromptTokens(messages, tools), outputTokens };
}

function fragments(text: string, characters: number | undefined): string[] {
  if (characters === undefined) return tokenize(text);
  const all = Array.from(text);
  const pieces: string[] = [];
  for (let at = 0; at < all.length; at += characters) {
    pieces.push(all.slice(at, at + characters).join(""));
  }
  return pieces;
}
