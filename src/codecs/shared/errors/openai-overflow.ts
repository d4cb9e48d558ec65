import type { ContextOverflow } from "../../../core/context-overflow.ts";

/** How engines of this format report their context length when a call does not fit. */
const CONTEXT_LENGTHS: readonly RegExp[] = [
  /maximum context length (?:is|of) (?:only )?(\d+)/i,
  /context length is (?:only )?(\d+)/i,
  /max_model_len\D{0,40}?(\d+)/i,
  /maximum model length of (\d+)/i,
  /maximum prompt length is (\d+)/i,
  /with (\d+) maximum context length/i,
  /available context size \((\d+) tokens\)/i,
  /too large to process.*\(current batch size: (\d+)\)/i,
  /context length (?:of only )?\(?(\d+)/i,
  /context length \(n_keep: \d+\s*>=\s*n_ctx: (\d+)\)/i,
  /exceeded model token limit: (\d+)/i,
];

const PROMPT_TOKENS: readonly RegExp[] = [
  /you passed (\d+) input tokens/i,
  /\((\d+) in the messages/i,
  /prompt contains (?:at least )?(\d+) input tokens/i,
  /your request has (\d+) input tokens/i,
  /your messages resulted in (\d+) tokens/i,
  /prompt \(length (\d+)\)/i,
  /prompt contains (\d+) tokens/i,
  /request contains (\d+) tokens/i,
  /request \((\d+) tokens\) exceeds/i,
  /input \((\d+) tokens\) is (?:too large to process|longer than)/i,
  /\(n_keep: (\d+)/i,
  /keep the first (\d+) tokens/i,
  /model token limit: \d+ \(requested: (\d+)\)/i,
  /prompt \(total length (\d+)\)/i,
  /(\d+) tokens from the input messages/i,
];

/** Messages without numbers. */
const WITHOUT_NUMBERS =
  /exceeds the (?:context window|available context size)|context size has been exceeded/i;

/** Reads an engine's message that a call does not fit the context; returns undefined for any other message. */
export function readContextOverflow(message: string): ContextOverflow | undefined {
  const contextLength = firstNumber(CONTEXT_LENGTHS, message);
  if (contextLength === undefined) {
    return WITHOUT_NUMBERS.test(message)
      ? { promptTokens: undefined, contextLength: undefined }
      : undefined;
  }
  return { promptTokens: firstNumber(PROMPT_TOKENS, message), contextLength };
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  for (const pattern of patterns) {
    const digits = pattern.exec(text)?.[1];
    if (digits !== undefined) return Number(digits);
  }
  return undefined;
}
