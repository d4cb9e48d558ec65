const VOCABULARY = 150_000;
const pieces = /<\|[a-z_]{1,24}\|>| ?[\p{L}\p{M}]{1,8}| ?\p{N}{1,3}|\s+|./gsu;

/**
 * Splits a text into the simulator's own tokens; joined, they are the text again. A template mark such as `<|user|>` is
 * one token.
 */
export function tokenize(text: string): string[] {
  return text.match(pieces) ?? [];
}

/** Returns a stable id for a token (FNV-1a). */
export function tokenId(token: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < token.length; index += 1) {
    hash = Math.imul(hash ^ token.charCodeAt(index), 0x01000193);
  }
  return (hash >>> 0) % VOCABULARY;
}
