import { createHash } from "node:crypto";
import type { SQL } from "drizzle-orm";
import type { AttributeFilter } from "../../core/file-search.ts";
import type { Database } from "../../db/database.ts";
import { BoundedMemory } from "../../lib/bounded-memory.ts";
import type { Clock } from "../../lib/clock.ts";
import { type CommonWords, sampleCommonWords } from "./common-words.ts";
import {
  COUNT_MAX,
  countSql,
  nearestOfFewSql,
  nearestSql,
  passingSql,
  RANKED_MAX,
  SCAN_SETTINGS,
  wordedSql,
} from "./index-scans.ts";
import type {
  Hit,
  SearchedStore,
  StoreQuestion,
  StoreState,
  WeightedWord,
  WordCounts,
} from "./searched-store.ts";

/** When a filter passes so few chunks, these are compared one by one: a scan of the index would find too few of them. */
const FEW_CHUNKS = 10_000;
/** Words by which chunks are ranked: the heaviest of the question. */
const RANKING_WORDS_MAX = 24;
/** How long samples are used. They change as slowly as the store. */
const SAMPLE_TTL_MS = 600_000;
const SAMPLES_MAX = 1_000;
/** Of each memory, with what an entry and a word take beside their characters, about. */
const SAMPLES_MAX_BYTES = 16 * 1024 * 1024;
const ENTRY_BYTES = 300;
const WORD_BYTES = 60;

/** Stores that the database searches: by their indexes, or exactly while these are being built. Needs pgvector. */
export class IndexedStores {
  readonly #database: Database;
  readonly #commonWords: BoundedMemory<Promise<CommonWords>>;
  readonly #passing: BoundedMemory<Promise<number>>;

  constructor(database: Database, clock: Clock) {
    const bounds = {
      maxSize: SAMPLES_MAX_BYTES,
      maxEntries: SAMPLES_MAX,
      timeToLiveMs: SAMPLE_TTL_MS,
    };
    this.#database = database;
    this.#commonWords = new BoundedMemory(clock, bounds);
    this.#passing = new BoundedMemory(clock, bounds);
  }

  open(store: StoreState): SearchedStore {
    return {
      countWords: (words) => this.#countWords(store, words),
      search: async (question) => {
        const [nearest, worded] = await Promise.all([
          this.#findNearest(store, question),
          this.#findWorded(store, question),
        ]);
        return { nearest, worded };
      },
    };
  }

  async #countWords(store: StoreState, words: readonly string[]): Promise<WordCounts> {
    const common = await this.#commonWordsOf(store);
    const rare = words.filter((word) => !common.shares.has(word));
    const [row] =
      rare.length === 0
        ? []
        : await this.#scan<{ counts: readonly number[] }>(countSql(store, rare));
    const counted = new Map(rare.map((word, index) => [word, row?.counts[index] ?? 0]));
    const counts = words.map(
      (word) => counted.get(word) ?? Math.ceil((common.shares.get(word) ?? 0) * common.chunks),
    );
    // The sample may be of a time when the store was smaller.
    return { chunks: Math.max(common.chunks, ...counts), counts };
  }

  #commonWordsOf(store: StoreState): Promise<CommonWords> {
    return remembered(this.#commonWords, {
      name: `${store.id}/${store.generation}`,
      make: () => this.#database.ask((db) => sampleCommonWords(db, store)),
      bytesOf: ({ shares }) =>
        [...shares.keys()].reduce((bytes, { length }) => bytes + length + WORD_BYTES, ENTRY_BYTES),
    });
  }

  async #findNearest(store: StoreState, question: StoreQuestion): Promise<readonly Hit[]> {
    const { filter } = question;
    const isOfFew = filter !== undefined && (await this.#countPassing(store, filter)) <= FEW_CHUNKS;
    const statement = isOfFew ? nearestOfFewSql(store, question) : nearestSql(store, question);
    return (await this.#scan<HitRow>(statement)).map(toHit);
  }

  #countPassing(store: StoreState, filter: AttributeFilter): Promise<number> {
    // A filter may have half a million characters.
    const digest = createHash("sha256").update(JSON.stringify(filter)).digest("base64url");
    return remembered(this.#passing, {
      name: `${store.id} ${digest}`,
      make: async () => {
        const [row] = await this.#database.ask((db) =>
          db.execute<{ chunks: number }>(passingSql(store, filter)),
        );
        return row?.chunks ?? 0;
      },
      bytesOf: () => ENTRY_BYTES,
    });
  }

  async #findWorded(store: StoreState, question: StoreQuestion): Promise<readonly Hit[]> {
    const words = [...question.words]
      .sort((one, other) => other.weight - one.weight)
      .slice(0, RANKING_WORDS_MAX);
    const choosing = rarest(words);
    if (choosing.length === 0) return [];
    const rows = await this.#scan<HitRow>(wordedSql(store, { ...question, words, choosing }));
    return rows.map(toHit);
  }

  /** In one transaction, because the settings of the scans hold for it only. */
  #scan<Row>(statement: SQL): Promise<readonly Row[]> {
    return this.#database.ask((db) =>
      db.transaction(async (transaction) => {
        await transaction.execute(SCAN_SETTINGS);
        return [...(await transaction.execute(statement))] as unknown as readonly Row[];
      }),
    );
  }
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

interface Figure<Value> {
  readonly name: string;
  readonly make: () => Promise<Value>;
  readonly bytesOf: (value: Value) => number;
}

/** Makes a figure once for all who ask meanwhile; one that failed is made again. */
function remembered<Value>(
  memory: BoundedMemory<Promise<Value>>,
  { name, make, bytesOf }: Figure<Value>,
): Promise<Value> {
  const known = memory.peek(name);
  if (known !== undefined) return known;
  const made = make();
  memory.set(name, made, ENTRY_BYTES);
  made.then(
    (value) => memory.set(name, made, bytesOf(value)),
    () => memory.delete(name),
  );
  return made;
}
