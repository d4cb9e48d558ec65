import type { Hit } from "./searched-store.ts";

/** The usual constant of reciprocal rank fusion. */
const RANK_OFFSET = 60;
/** A chunk whose words weigh less than this share of the best one's shares only everyday words with the question. */
const WORDS_SHARE_MIN = 0.4;

/** A chunk that qualified, with its cosine clamped to 0 to 1. */
export interface RankedChunk {
  readonly id: number;
  readonly score: number;
}

export interface FuseOptions {
  /** The cosine from which a chunk qualifies without a code; undefined: all do. */
  readonly minSimilarity: number | undefined;
  readonly limit: number;
}

/**
 * Fuses lists of hits by reciprocal rank, the best first.
 *
 * @param nearest one list for each embedding model, because cosines of two models do not compare.
 * @param worded the hits by words of all models.
 */
export function fuseRanks(
  nearest: readonly (readonly Hit[])[],
  worded: readonly Hit[],
  { minSimilarity, limit }: FuseOptions,
): readonly RankedChunk[] {
  const found = new Map<number, { cosine: number; hasCode: boolean; sum: number }>();
  const addList = (hits: readonly Hit[]) => {
    for (const [index, { id, cosine, hasCode }] of hits.entries()) {
      const entry = found.get(id) ?? { cosine, hasCode: false, sum: 0 };
      entry.hasCode ||= hasCode;
      entry.sum += 1 / (RANK_OFFSET + index + 1);
      found.set(id, entry);
    }
  };
  for (const hits of nearest) addList(hits.toSorted((one, other) => other.cosine - one.cosine));
  addList(telling(worded));
  return [...found]
    .filter(
      ([, { cosine, hasCode }]) =>
        minSimilarity === undefined || cosine >= minSimilarity || hasCode,
    )
    .sort(([, one], [, other]) => other.sum - one.sum || other.cosine - one.cosine)
    .slice(0, limit)
    .map(([id, { cosine }]) => ({ id, score: Math.min(1, Math.max(0, cosine)) }));
}

/** Without this, chunks with everyday words in both lists would pass the one that is about the question. */
function telling(worded: readonly Hit[]): readonly Hit[] {
  const sorted = worded.toSorted((one, other) => other.words - one.words);
  const least = (sorted[0]?.words ?? 0) * WORDS_SHARE_MIN;
  return sorted.filter(({ words, hasCode }) => words >= least || hasCode);
}
