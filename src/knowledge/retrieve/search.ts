import { type SQL, sql } from "drizzle-orm";
import { ServiceError } from "../../core/service-error.ts";
import type { Database } from "../../db/database.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { untilAborted } from "../../lib/until-aborted.ts";
import type { Embedder } from "../embed-texts.ts";
import { cutQuestion } from "./cut-question.ts";
import { fuseRanks } from "./fuse-ranks.ts";
import { VECTORS_INDEX } from "./indexes/index-names.ts";
import type { Passage, Question, Search } from "./passage.ts";
import { readPassages } from "./read-passages.ts";
import {
  type Hits,
  type SearchedStore,
  StaleStore,
  type StoreState,
  type WeightedWord,
  type WordCounts,
} from "./searched-store.ts";
import { questionWords } from "./words.ts";

/** Chunks of a store by cosine, and as many by words, from which the passages are chosen. */
const CANDIDATES = 50;
/** A word with a digit is a code while the store has it in so few chunks. */
const CODE_CHUNKS_MAX = 10;
/** A search begins again when a store changed during it. */
const ATTEMPTS_MAX = 3;

export interface SearchOptions {
  readonly database: Database;
  readonly embedder: Pick<Embedder, "embedQuestion">;
  readonly openStore: (store: StoreState) => SearchedStore;
  readonly clock: Clock;
  /** Called with the stores of each search. Must not throw. */
  readonly onSearched?: ((storeIds: readonly string[]) => void) | undefined;
}

/** A store of a question, opened, with the question's vector by its model. */
interface Asked {
  readonly state: StoreState;
  readonly store: SearchedStore;
  readonly vector: Float32Array;
}

export function createSearch(options: SearchOptions): Search {
  return async (question) => {
    question.signal.throwIfAborted();
    const text = cutQuestion(question.text);
    return untilAborted(searchAgain(options, { ...question, text }), question.signal);
  };
}

async function searchAgain(
  options: SearchOptions,
  question: Question,
): Promise<readonly Passage[]> {
  const vectors = new Map<string, Promise<Float32Array>>();
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt === ATTEMPTS_MAX;
    try {
      return await searchOnce(options, question, { vectors, isLast });
    } catch (thrown) {
      if (!(thrown instanceof StaleStore)) throw thrown;
      if (isLast) throw tooFast(thrown);
    }
    question.signal.throwIfAborted();
  }
}

interface Attempt {
  /** By model. */
  readonly vectors: Map<string, Promise<Float32Array>>;
  /** Return what is left, although some of it is gone. */
  readonly isLast: boolean;
}

async function searchOnce(
  options: SearchOptions,
  question: Question,
  { vectors, isLast }: Attempt,
): Promise<readonly Passage[]> {
  const { database, embedder, openStore } = options;
  const { text, limit, minSimilarity, onEmbedded, signal } = question;
  if (text.trim() === "") return [];
  const asked = await Promise.all(
    (await findStores(options, question)).map(async (state): Promise<Asked> => {
      const model = state.embeddingModel;
      const embedding =
        vectors.get(model) ?? embedder.embedQuestion(model, text, signal, onEmbedded);
      vectors.set(model, embedding);
      const vector = await embedding;
      if (vector.length !== state.dimensions) throw otherLength(state, vector.length);
      return { state, store: openStore(state), vector };
    }),
  );
  options.onSearched?.(asked.map(({ state }) => state.id));
  const found = await findHits(asked, question);
  const models = new Set(asked.map(({ state }) => state.embeddingModel));
  const nearest = [...models].map((model) =>
    found.flatMap(({ hits }, index) =>
      asked[index]?.state.embeddingModel === model ? hits.nearest : [],
    ),
  );
  const worded = found.flatMap(({ hits }) => hits.worded);
  const ranked = fuseRanks(nearest, worded, { minSimilarity, limit });
  const passages = await readPassages(database, ranked);
  if (isLast) return passages;
  if (passages.length < ranked.length) throw new StaleStore("chunks are gone");
  // Only a search that found nothing any more in a replaced generation has no passage that is missing now.
  if (found.every(({ hits }) => hits.nearest.length > 0)) return passages;
  const now = await findStores(options, question);
  const isReplaced = asked.some(({ state }) =>
    now.some(({ id, generation }) => id === state.id && generation !== state.generation),
  );
  if (isReplaced) throw new StaleStore("a generation was replaced");
  return passages;
}

interface Found {
  readonly hits: Hits;
}

async function findHits(
  asked: readonly Asked[],
  { text, filter }: Question,
): Promise<readonly Found[]> {
  const { words, codes } = questionWords(text);
  const begun = await Promise.all(
    asked.map(({ store, vector }) => store.begin({ vector, words, filter, limit: CANDIDATES })),
  );
  const weights = weighted(
    begun.map(({ counts }) => counts),
    words.length,
  );
  return Promise.all(
    begun.map(async ({ counts: { counts }, finish }) => {
      const known = words.map((word, place): WeightedWord => {
        const count = counts[place] ?? 0;
        const isCode = codes.has(word) && count > 0 && count <= CODE_CHUNKS_MAX;
        return { word, weight: weights[place] ?? 0, count, isCode };
      });
      return { hits: await finish(known.filter(({ count }) => count > 0)) };
    }),
  );
}

/** What each word weighs: the fewer chunks of all stores hold it, the more. */
function weighted(counted: readonly WordCounts[], words: number): readonly number[] {
  const chunks = counted.reduce((sum, store) => sum + store.chunks, 0);
  return Array.from({ length: words }, (_, index) => {
    const holding = counted.reduce((sum, { counts }) => sum + (counts[index] ?? 0), 0);
    return Math.log(1 + Math.max(0, chunks - holding + 0.5) / (holding + 0.5));
  });
}

/** Stores without a vector have nothing to find. */
async function findStores(
  { database: { ask }, clock }: SearchOptions,
  { vectorStoreIds: ids, readerId }: Question,
): Promise<readonly StoreState[]> {
  if (ids.length === 0) return [];
  const now = new Date(clock.now()).toISOString();
  const wanted = sql.join(
    [...new Set(ids)].map((id) => sql`${id}`),
    sql`, `,
  );
  const rows = await ask((db) =>
    db.execute<{ [Name in keyof StoreState]: StoreState[Name] }>(sql`
      select id, generation, version::float8 as version, embedding_model as "embeddingModel", dimensions,
        exists (select 1 from pg_index where indisvalid and indexrelid =
          to_regclass(quote_ident(${VECTORS_INDEX} || id || '_' || generation))) as "isIndexed"
      from vector_stores where id in (${wanted}) and dimensions is not null
        and (expires_at is null or expires_at > ${now}::timestamptz) and ${mayBeReadBy(readerId)}`),
  );
  return [...rows];
}

/** The rule of `mayUse`, for a user who is not the caller: the rights of now decide, not those of an earlier choice. */
function mayBeReadBy(readerId: string | null | undefined): SQL {
  if (readerId === undefined) return sql`true`;
  return sql`(visibility = 'everyone' or owner_id is not distinct from ${readerId}
    or exists (select 1 from users where users.id = ${readerId} and users.role = 'admin'))`;
}

function tooFast(cause: StaleStore): ServiceError {
  const message = "The vector stores of this search change too fast. Try again.";
  return new ServiceError("overloaded", message, { cause, retryAfterSeconds: 1 });
}

function otherLength({ embeddingModel, dimensions, id }: StoreState, length: number): ServiceError {
  return new ServiceError(
    "upstream_error",
    `The embedding model '${embeddingModel}' now returns vectors of ${length} numbers, but the vector store '${id}' was made with ${dimensions}. Reindex the vector store.`,
  );
}
