import type { AttributeFilter } from "../../core/file-search.ts";
import type { FileAttributes } from "../../db/tables/knowledge.ts";

/** A piece of a document that a search has found. */
export interface Passage {
  readonly vectorStoreId: string;
  readonly fileId: string;
  readonly filename: string;
  readonly attributes: FileAttributes;
  /** From 1. */
  readonly page: number | null;
  readonly sheet: string | null;
  /** The headings above it, outermost first. */
  readonly heading: string | null;
  readonly text: string;
  /** The cosine of question and passage, from 0 to 1. */
  readonly score: number;
}

export interface Question {
  readonly vectorStoreIds: readonly string[];
  readonly text: string;
  /** Passages at most, over all stores. */
  readonly limit: number;
  /**
   * A passage qualifies at this cosine, or with a code of the question (a word with a digit that few chunks of the
   * store hold). Undefined: every passage qualifies.
   */
  readonly minSimilarity: number | undefined;
  readonly filter?: AttributeFilter | undefined;
  /**
   * The user in whose name the stores are read: stores that this user may not use now are left out. Null stands for an
   * owner who was deleted. Undefined when the caller has checked the stores.
   */
  readonly readerId?: string | null | undefined;
  /** Called with the tokens of the question each time that it is embedded, where the engine counts them. */
  readonly onEmbedded?: ((tokens: number) => void) | undefined;
  readonly signal: AbortSignal;
}

/**
 * Finds the passages that suit a question, the best first. A store that is gone or has expired is left out. Rejects with a `ServiceError` when the embedding model or the database does
 * not answer, and with the signal's reason.
 */
export type Search = (question: Question) => Promise<readonly Passage[]>;
