/** The usual rule of thumb, for text whose tokenizer is not known. */
const CHARACTERS_PER_TOKEN = 4;

/** Tokens of a text of this many characters, by estimate. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
