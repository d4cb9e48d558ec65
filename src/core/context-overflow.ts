/** By how much a prompt is too long, as far as the engine reports it. */
export interface ContextOverflow {
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;
}

/** Describes that a prompt is too long in the words that client libraries search for. */
export function describeOverflow({ contextLength, promptTokens }: ContextOverflow): string {
  return contextLength === undefined || promptTokens === undefined
    ? "Your messages are longer than the model's context."
    : `This model's maximum context length is ${contextLength} tokens. However, your messages resulted in ${promptTokens} tokens.`;
}
