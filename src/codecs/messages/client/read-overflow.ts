import type { ContextOverflow } from "../../../core/context-overflow.ts";

const PROMPT_TOO_LONG = /prompt is too long: (\d+) tokens > (\d+) maximum/i;
const BOTH_TOO_LONG = /input length and `?max_tokens`? exceed context limit: (\d+) \+ \d+ > (\d+)/i;
const ANSWER_TOO_LONG = /max_tokens: \d+ > (\d+)/i;

/** Reads the vendor's complaint that a call does not fit the model; undefined when the text is about something else. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  const [, promptTokens, contextLength] =
    PROMPT_TOO_LONG.exec(message) ?? BOTH_TOO_LONG.exec(message) ?? [];
  if (promptTokens !== undefined && contextLength !== undefined) {
    return { promptTokens: Number(promptTokens), contextLength: Number(contextLength) };
  }
  const answerTokens = ANSWER_TOO_LONG.exec(message)?.[1];
  // The limit of an answer is that of a context which the answer has for itself.
  return answerTokens === undefined
    ? undefined
    : { promptTokens: 0, contextLength: Number(answerTokens) };
}
