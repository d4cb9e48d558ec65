import { createHash } from "node:crypto";
import type { SQL } from "drizzle-orm";
import type { AttributeFilter } from "../../../core/file-search.ts";
import type { Database } from "../../../db/database.ts";
import type { Clock } from "../../../lib/time/clock.ts";
import type {
  Hit,
  SearchedStore,
  StoreQuestion,
  StoreState,
  WeightedWord,
  WordCounts,
} from "../searched-store.ts";
import { type CommonWords, sampleCommonWords } from "./common-words.ts";
import {
  COUNT_MAX,
  countSql,
  nearestOfFewSql,
  nearestSql,
  passingSql,
  RANKED_MAX,
  type RankedWords,
  scanSettings,
  wordedSql,
} from "./index-scans.ts";
import { RememberedFigures } from "./remembered-figures.ts";

/**
 * When a filter passes so few chunks, these are compared one by one: of a million chunks a scan of the index found a third to
 * a half of the nearest 1 to 3%, and took longer.
 */
const FEW_CHUNKS = 40_000;
/** Words by which chunks are ranked: the heaviest of the question. */
const RANKING_WORDS_MAX = 24;
/** Samples of words are taken beside the searches, which go on with the old one: they only weigh words. */
const WORDS_KEPT_MS = 3_600_000;
const PASSING_KEPT_MS = 600_000;
/** What an entry and a word take in memory beside their characters, about. */
const ENTRY_BYTES = 300;
const WORD_BYTES = 60;

/** Stores that the database searches: by their indexes, or exactly while these are being built. Needs pgvector. */
export class IndexedStores {
  readonly #database: Database;
  readonly #commonWords: RememberedFigures<CommonWords>;
  readonly #passing: RememberedFigures<number>;

  constructor(database: Database, clock: Clock) {
    this.#database = database;
    this.#commonWords = new RememberedFigures(clock, WORDS_KEPT_MS, bytesOf);
    this.#passing = new RememberedFigures(clock, PASSING_KEPT_MS, () => ENTRY_BYTES);
  }

  open(store: StoreState): SearchedStore {
    return {
      begin: async (question) => {
        // The nearest chunks depend on no word: they are looked for while the words are counted.
        const isOfFew = this.#isOfFew(store, question);
        const nearest = this.#findNearest(store, question, isOfFew);
        nearest.catch(() => undefined);
        return {
          counts: await this.#countWords(store, question.words),
          finish: async (words) => {
            const worded = await this.#findWorded(
              store,
              question,
              rankedWords(words, await isOfFew),
            );
            return { nearest: await nearest, worded };
          },
        };
      },
    };
  }

  async #countWords(store: StoreState, words: readonly string[]): Promise<WordCounts> {
    if (words.length === 0) return { chunks: 0, counts: [] };
    const common = await this.#commonWordsOf(store);
    const rare = words.filter((word) => !common.shares.has(word));
    const [row] =
      rare.length === 0
        ? []
        : await this.#scan<{ counts: readonly number[] }>(countSql(store, rare), undefined);
    const counted = new Map(rare.map((word, index) => [word, row?.counts[index] ?? 0]));
    const counts = words.map(
      (word) => counted.get(word) ?? Math.ceil((common.shares.get(word) ?? 0) * common.chunks),
    );
    // The sample may be of a time when the store was smaller.
    return { chunks: Math.max(common.chunks, ...counts), counts };
  }

  #commonWordsOf(store: StoreState): Promise<CommonWords> {
    return this.#commonWords.read(`${store.id}/${store.generation}`, () =>
      this.#database.ask((db) => sampleCommonWords(db, store)),
    );
  }

  async #findNearest(
    store: StoreState,
    question: StoreQuestion,
    isOfFew: Promise<boolean>,
  ): Promise<readonly Hit[]> {
    const statement = (await isOfFew)
      ? nearestOfFewSql(store, question)
      : nearestSql(store, question);
    return (await this.#scan<HitRow>(statement, question.filter)).map(toHit);
  }

  async #isOfFew(store: StoreState, { filter }: StoreQuestion): Promise<boolean> {
    return filter !== undefined && (await this.#countPassing(store, filter)) <= FEW_CHUNKS;
  }

  #countPassing(store: StoreState, filter: AttributeFilter): Promise<number> {
    // A filter may have half a million characters.
    const digest = createHash("sha256").update(JSON.stringify(filter)).digest("base64url");
    return this.#passing.read(`${store.id} ${digest}`, async () => {
      const [row] = await this.#database.ask((db) =>
        db.execute<{ chunks: number }>(passingSql(store, filter)),
      );
      return row?.chunks ?? 0;
    });
  }

  async #findWorded(
    store: StoreState,
    question: StoreQuestion,
    ranked: RankedWords,
  ): Promise<readonly Hit[]> {
    if (ranked.choosing.length === 0) return [];
    const statement = wordedSql(store, question, ranked);
    return (await this.#scan<HitRow>(statement, question.filter)).map(toHit);
  }

  /** In one transaction, because the settings of the scans hold for it only. */
  #scan<Row>(statement: SQL, filter: AttributeFilter | undefined): Promise<readonly Row[]> {
    return this.#database.ask((db) =>
      db.transaction(async (transaction) => {
        await transaction.execute(scanSettings(filter));
        return [...(await transaction.execute(statement))] as unknown as readonly Row[];
      }),
    );
  }
}

function rankedWords(weighted: readonly WeightedWord[], isOfFew: boolean): RankedWords {
  const words = weighted
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, RANKING_WORDS_MAX);
  return { words, choosing: rarest(words), isOfFew };
}

/** The rarest words, as many as choose no more chunks than can be ranked. */
function rarest(words: readonly WeightedWord[]): readonly WeightedWord[] {
  let chunks = 0;
  return words
    .filter(({ count }) => count <= COUNT_MAX)
    .sort((one, other) => one.count - other.count)
    .filter(({ count }) => {
      chunks += count;
      return chunks <= RANKED_MAX;
    });
}

interface HitRow {
  readonly id: string;
  readonly cosine: number;
  readonly words?: number;
  readonly hasCode?: boolean;
}

function toHit({ id, cosine, words = 0, hasCode = false }: HitRow): Hit {
  return { id: Number(id), cosine, words, hasCode };
}

function bytesOf({ shares }: CommonWords): number {
  return [...shares.keys()].reduce((bytes, { length }) => bytes + length + WORD_BYTES, ENTRY_BYTES);
}
