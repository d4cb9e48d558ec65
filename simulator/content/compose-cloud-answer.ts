import type { Call } from "../call.ts";
import type { Answer } from "./answer.ts";
import { composeAnswer } from "./compose-answer.ts";
import { tellUsage } from "./tell-usage.ts";
import { tokenize } from "./tokenizer.ts";
import type { Turn } from "./turn.ts";

/** Usage figures that some formats have no field for. */
export type Figure = "cachedTokens" | "cacheWriteTokens" | "reasoningTokens";

const allFigures: readonly Figure[] = ["cachedTokens", "cacheWriteTokens", "reasoningTokens"];

/** Composes the answer to a turn; its usage has only the figures that the format reports. */
export function composeCloudAnswer(
  call: Call,
  turn: Turn,
  newCallId: (random: () => number) => string,
  told: readonly Figure[] = allFigures,
): Answer {
  const { entry, options, script } = call;
  const source = { seed: options.seed, sequence: entry.sequence, newCallId };
  const answer = tellUsage(call, composeAnswer(turn, source, script));
  const { usage } = answer;
  if (!usage) return answer;
  const { inputTokens, outputTokens } = usage;
  const reasoningTokens = tokenize(answer.reasoning.join("")).length;
  const known = { cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens, ...usage };
  const figures = Object.fromEntries(told.map((figure) => [figure, known[figure]]));
  return { ...answer, usage: { inputTokens, outputTokens, ...figures } };
}
