/** How far a prompt is too long, as far as an engine tells. */
export interface ContextOverflow {
  readonly promptTokens: number | undefined;
  readonly contextLength: number | undefined;
}

/** Tells a client that its prompt is too long, in the words that clients look for. */
export function describeOverflow({ contextLength, promptTokens }: ContextOverflow): string {
  return contextLength === undefined || promptTokens === undefined
    ? "Your messages are longer than the model's context."
    : `This model's maximum context length is ${contextLength} tokens. However, your messages resulted in ${promptTokens} tokens.`;
}
