import { createHash } from "node:crypto";

/** Creates a generator of numbers in [0, 1) that depend only on the given words (mulberry32 over a SHA-256). */
export function createRandom(...words: readonly string[]): () => number {
  const digest = createHash("sha256").update(words.join("\u0000")).digest();
  let state = digest.readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/** Returns random letters and digits. */
export function alphanumeric(random: () => number, length: number): string {
  return Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join("");
}

/** Returns random lower-case hexadecimal digits. */
export function hexadecimal(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join("");
}
