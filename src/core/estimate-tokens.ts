/** The usual rule of thumb, for text whose tokenizer is not known. */
const CHARACTERS_PER_TOKEN = 4;

/** Few tokenizers make more tokens of a text, in any script: four characters of Chinese are twelve bytes. */
const BYTES_PER_TOKEN = 3;

/** Tokens that a key is charged for a text of this many UTF-8 bytes which nobody has counted. */
export function chargeTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** Tokens of a text of this many characters, by estimate. */
export function estimateTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}
