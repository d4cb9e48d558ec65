import type { Call } from "./call.ts";
import type { Answer } from "./content/answer.ts";
import { composeAnswer } from "./content/compose-answer.ts";
import { tokenize } from "./content/tokenizer.ts";
import type { Turn } from "./content/turn.ts";
import { tellUsage } from "./tell-usage.ts";

/** The answer to a turn, with every figure that a cloud tells. */
export function composeCloudAnswer(
  call: Call,
  turn: Turn,
  newCallId: (random: () => number) => string,
): Answer {
  const { entry, options, script } = call;
  const source = { seed: options.seed, sequence: entry.sequence, newCallId };
  const answer = tellUsage(call, composeAnswer(turn, source, script));
  const { usage } = answer;
  if (!usage) return answer;
  const reasoningTokens = tokenize(answer.reasoning.join("")).length;
  const figures = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens, ...usage };
  return { ...answer, usage: figures };
}
