import { createRandom } from "./random.ts";
import { tokenize } from "./tokenizer.ts";

const CACHE_LIMIT = 20_000;
const cache = new Map<string, readonly number[]>();

/** Returns a unit vector made from the text's words: texts that share words are close to each other. */
export function embed(text: string, dimensions: number): number[] {
  const sum = new Array<number>(dimensions).fill(0);
  for (const token of tokenize(text)) {
    const vector = wordVector(token.trim().toLowerCase(), dimensions);
    for (let index = 0; index < dimensions; index += 1) {
      sum[index] = (sum[index] ?? 0) + (vector[index] ?? 0);
    }
  }
  const length = Math.hypot(...sum) || 1;
  return sum.map((value) => Number((value / length).toFixed(7)));
}

function wordVector(word: string, dimensions: number): readonly number[] {
  const key = `${dimensions} ${word}`;
  const known = cache.get(key);
  if (known) return known;
  const random = createRandom("embedding", word);
  const vector = Array.from({ length: dimensions }, () => random() * 2 - 1);
  if (cache.size >= CACHE_LIMIT) cache.clear();
  cache.set(key, vector);
  return vector;
}
