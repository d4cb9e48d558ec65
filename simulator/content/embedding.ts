import { functionWords } from "./function-words.ts";

/** How many numbers of the vector a feature adds to or subtracts from. */
const PLACES = 8;
const WORD = 1;
const CODE = 2;
const FUNCTION_WORD = 0.05;
/** All trigrams of a word together: they bring `connect` and `connection` together. */
const TRIGRAMS = 0.4;
const BIGRAM = 1;

const words = /[\p{L}\p{M}\p{N}]+(?:[-_./][\p{L}\p{M}\p{N}]+)*/gu;
/** An ending of English or German after three letters or more. */
const ending = /^(.{3,}?)(?:ings?|ely|ly|ed|es|en|ern|er|em|e|s|n)$/u;
const withoutSpaces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu;

/**
 * Returns a vector of length 1 that depends only on the text: texts that share words are close to each other, others
 * are nearly orthogonal. Every feature is hashed to signed places.
 */
export function embed(text: string, dimensions: number): number[] {
  const sum = new Float64Array(dimensions);
  for (const [feature, { weight, count }] of featuresOf(text)) {
    addFeature(sum, feature, weight * Math.sqrt(count));
  }
  if (sum.every((value) => value === 0)) addFeature(sum, `text ${text}`, 1);
  const length = Math.hypot(...sum);
  return Array.from(sum, (value) => Number((value / length).toFixed(7)));
}

type Features = Map<string, { readonly weight: number; count: number }>;

function featuresOf(text: string): Features {
  const features: Features = new Map();
  const plain = text.normalize("NFKC").toLowerCase();
  for (const [run] of plain.matchAll(withoutSpaces)) {
    const characters = [...run];
    if (characters.length === 1) count(features, run, BIGRAM);
    for (const [index, next] of characters.slice(1).entries()) {
      count(features, `${characters[index]}${next}`, BIGRAM);
    }
  }
  for (const [word] of plain.replace(withoutSpaces, " ").matchAll(words)) {
    if (/\p{N}/u.test(word)) count(features, word, CODE);
    else for (const part of word.split(/[-_./]/)) countWord(features, part);
  }
  return features;
}

function countWord(features: Features, word: string): void {
  if (functionWords.has(word)) {
    count(features, word, FUNCTION_WORD);
    return;
  }
  count(features, word.replace(ending, "$1"), WORD);
  const padded = [...`^${word}$`];
  const trigrams = padded.slice(2).map((_, index) => padded.slice(index, index + 3).join(""));
  for (const trigram of trigrams) {
    count(features, `trigram ${trigram}`, TRIGRAMS / Math.sqrt(trigrams.length));
  }
}

function count(features: Features, feature: string, weight: number): void {
  const known = features.get(feature);
  if (known) known.count += 1;
  else features.set(feature, { weight, count: 1 });
}

function addFeature(sum: Float64Array, feature: string, weight: number): void {
  for (let place = 0; place < PLACES; place += 1) {
    const hash = hashOf(`${place} ${feature}`);
    const index = (hash >>> 1) % sum.length;
    sum[index] = (sum[index] ?? 0) + (hash & 1 ? weight : -weight);
  }
}

/** Returns 32 well mixed bits (FNV-1a, finished as MurmurHash3 does). */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
