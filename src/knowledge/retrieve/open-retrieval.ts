import { histogramSamples } from "../../core/metric.ts";
import type { Part } from "../../core/part.ts";
import { ServiceError } from "../../core/service-error.ts";
import type { Base } from "../../db/base.ts";
import { Histogram } from "../../lib/histogram.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Embedder } from "../embed-texts.ts";
import { INDEXED_DIMENSIONS_MAX } from "./indexes/index-names.ts";
import { IndexedStores } from "./indexes/indexed-stores.ts";
import { enablePgvector, keepVectorIndexes } from "./indexes/vector-indexes.ts";
import { MemoryStores, memoryNeeded } from "./memory/memory-stores.ts";
import type { Search } from "./passage.ts";
import { createSearch } from "./search.ts";
import { OutgrownStore, type SearchedStore, type StoreState } from "./searched-store.ts";

const MIB = 1024 * 1024;
const INDEX_PAUSE_MS = 60_000;
/** One run builds the indexes of all large stores, and one that does not fit into memory takes hours. */
const INDEX_LONGEST_MS = 24 * 60 * 60_000;
/** Seconds: from a question whose store is in memory to one that waits for the embedding engine. */
const SEARCH_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface Retrieval extends Part {
  readonly search: Search;
  /**
   * Throws `invalid_value`, with what to do, when a store of so many chunks could not be searched: it does not fit into
   * RAG_MEMORY_MB, and the database has no index for it. Ingestion asks before it stores the chunks of a file.
   */
  readonly refuseOutgrown: (store: { chunks: number; dimensions: number }) => void;
}

export interface RetrievalParts {
  readonly embedder: Pick<Embedder, "embedQuestion">;
  /** Called with the stores of each search. */
  readonly onSearched?: (storeIds: readonly string[]) => void;
  /** Chunks from which a store is indexed; for tests. */
  readonly exactChunksMax?: number;
}

/** The search of vector stores: exact in memory, or by indexes of the database where it has pgvector. */
export async function openRetrieval(
  { settings, database, clock, log }: Base,
  { embedder, onSearched, exactChunksMax }: RetrievalParts,
): Promise<Retrieval> {
  const memoryBytes = settings.RAG_MEMORY_MB * MIB;
  const hasPgvector = await enablePgvector(database, log);
  const memory = new MemoryStores({ database, maxBytes: memoryBytes, log });
  const indexed = new IndexedStores(database, clock);

  const refuseOutgrown = ({ chunks, dimensions }: { chunks: number; dimensions: number }) => {
    const needed = memoryNeeded(chunks, dimensions);
    const canBeIndexed = hasPgvector && dimensions <= INDEXED_DIMENSIONS_MAX;
    if (canBeIndexed || needed <= memoryBytes) return;
    throw outgrown(chunks, Math.ceil(needed / MIB), settings.RAG_MEMORY_MB);
  };
  const openStore = (state: StoreState): SearchedStore => {
    if (state.isIndexed && hasPgvector) return indexed.open(state);
    return withFallback(memory.open(state), ({ chunks }) => {
      refuseOutgrown({ chunks, dimensions: state.dimensions });
      return indexed.open(state);
    });
  };
  const indexOptions = {
    database,
    settings,
    memoryBytes,
    log,
    ...(exactChunksMax !== undefined && { exactChunksMax }),
  };
  const seconds = new Histogram(SEARCH_SECONDS);
  return {
    search: timed(
      createSearch({ database, embedder, openStore, clock, onSearched }),
      clock,
      seconds,
    ),
    refuseOutgrown,
    metrics: [
      {
        name: "svc_retrieval_seconds",
        type: "histogram",
        help: "Time of a search in vector stores, with the embedding of its question; failed ones are not counted.",
        labels: [],
        read: () => histogramSamples(seconds),
      },
    ],
    jobs: hasPgvector
      ? [
          {
            name: "vector-indexes",
            pauseMs: INDEX_PAUSE_MS,
            longestMs: INDEX_LONGEST_MS,
            run: () => keepVectorIndexes(indexOptions),
          },
        ]
      : [],
    close: () => memory.close(),
  };
}

function timed(search: Search, clock: Clock, seconds: Histogram): Search {
  return async (question) => {
    const startedAt = clock.now();
    const passages = await search(question);
    seconds.observe(Math.max(0, clock.now() - startedAt) / 1_000);
    return passages;
  };
}

/** A store that does not fit into memory is searched by what `fallBack` returns. */
function withFallback(
  store: SearchedStore,
  fallBack: (outgrown: OutgrownStore) => SearchedStore,
): SearchedStore {
  const otherwise = <Result>(
    work: Promise<Result>,
    again: (store: SearchedStore) => Promise<Result>,
  ) =>
    work.catch((thrown: unknown) => {
      if (thrown instanceof OutgrownStore) return again(fallBack(thrown));
      throw thrown;
    });
  return {
    async begin(question) {
      const begun = await otherwise(store.begin(question), (other) => other.begin(question));
      return {
        counts: begun.counts,
        finish: (words) =>
          otherwise(begun.finish(words), async (other) =>
            (await other.begin(question)).finish(words),
          ),
      };
    },
  };
}

function outgrown(chunks: number, neededMb: number, memoryMb: number): ServiceError {
  return new ServiceError(
    "invalid_value",
    `A vector store of ${chunks} passages needs ${neededMb} MB of memory, and RAG_MEMORY_MB is ${memoryMb}. ` +
      "Raise RAG_MEMORY_MB, use a PostgreSQL with pgvector 0.8 or later, or use several vector stores.",
  );
}
