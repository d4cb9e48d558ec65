/** The usual rule of thumb for text whose tokenizer is unknown. */
const CHARACTERS_PER_TOKEN = 4;

/** A ratio that few tokenizers exceed in any script: four Chinese characters are twelve bytes. */
const BYTES_PER_TOKEN = 3;

/** Returns the tokens that a key is charged for uncounted text of this many UTF-8 bytes. */
export function chargeTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Returns the estimated number of tokens in a text of this many characters. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
