import type { AttributeFilter } from "../../core/file-search.ts";

/** What of a store decides how it is searched. */
export interface StoreState {
  readonly id: string;
  readonly generation: number;
  readonly version: number;
  readonly embeddingModel: string;
  /** The length of its vectors. */
  readonly dimensions: number;
  /** The database has a complete index of this generation's vectors. */
  readonly isIndexed: boolean;
}

/** A word with what a chunk gets for it. */
export interface WeightedWord {
  readonly word: string;
  readonly weight: number;
  /** Chunks of the store that hold it. */
  readonly count: number;
  /** Chunks that hold it qualify by it. */
  readonly isCode: boolean;
}

/** A chunk that a search has found. */
export interface Hit {
  readonly id: number;
  readonly cosine: number;
  /** The sum of the weights of its words; 0 if it has none of the question. */
  readonly words: number;
  readonly hasCode: boolean;
}

export interface Hits {
  readonly nearest: readonly Hit[];
  readonly worded: readonly Hit[];
}

export interface WordCounts {
  /** Chunks of the store. */
  readonly chunks: number;
  /** Of each word: the chunks that hold it. */
  readonly counts: readonly number[];
}

export interface StoreQuestion {
  readonly vector: Float32Array;
  /** Each once. */
  readonly words: readonly string[];
  readonly filter: AttributeFilter | undefined;
  /** Chunks by cosine, and as many by words. */
  readonly limit: number;
}

/**
 * One store in the state in which a search found it. A search has two steps, because what a word weighs depends on its
 * counts in all stores of the search. Both reject with `StaleStore` when that state is gone.
 */
export interface SearchedStore {
  readonly begin: (question: StoreQuestion) => Promise<BegunSearch>;
}

export interface BegunSearch {
  /** Approximate while files change; exact up to 10. */
  readonly counts: WordCounts;
  /** Finds the nearest chunks, and those with the heaviest of these words. Both lists are sorted. */
  readonly finish: (words: readonly WeightedWord[]) => Promise<Hits>;
}

/** The store was changed or deleted after its state was read. */
export class StaleStore extends Error {}

/** The store does not fit into the memory for vectors. */
export class OutgrownStore extends Error {
  readonly chunks: number;

  constructor(chunks: number) {
    super(`${chunks} chunks do not fit into memory`);
    this.chunks = chunks;
  }
}
