import type { Caller } from "../../core/callers/caller.ts";
import type { AttributeFilter } from "../../core/file-search.ts";
import type { Passage, Search } from "../retrieve/passage.ts";
import { readStore, refuseExpired, type StoreRow, type Stores } from "./stores.ts";
import { needsTouch, touchStores } from "./touch-stores.ts";

export interface StoreSearch {
  readonly vectorStoreId: string;
  /** One or more; the passages of all of them are merged. */
  readonly queries: readonly string[];
  /** Passages at most. */
  readonly limit: number;
  /** The least score; undefined: any. */
  readonly minScore: number | undefined;
  readonly filter: AttributeFilter | undefined;
  /** Called with the tokens of each query that the engine has embedded and counted. */
  readonly onEmbedded: (tokens: number) => void;
  readonly signal: AbortSignal;
}

/** Returns a store that the caller may search, and records its use. Rejects with `not_found`, and when it has expired. */
export function openStoreForSearch(
  { database, clock }: Stores,
  caller: Caller,
  id: string,
): Promise<StoreRow> {
  return database.ask(async (db) => {
    const now = clock.now();
    const store = await readStore(db, id, caller);
    refuseExpired(store, now);
    if (needsTouch(store, now)) await touchStores(db, [id], now);
    return store;
  });
}

/** Finds the passages of one store for one or more queries, the best first. Rejects as `search` does. */
export async function searchQueries(
  search: Search,
  { vectorStoreId, queries, limit, minScore, filter, onEmbedded, signal }: StoreSearch,
): Promise<readonly Passage[]> {
  const found = await Promise.all(
    queries.map((text) =>
      search({
        vectorStoreIds: [vectorStoreId],
        text,
        limit,
        minSimilarity: minScore,
        filter,
        onEmbedded,
        signal,
      }),
    ),
  );
  // A passage with a code of the question qualifies for an answer whatever its score, but not here.
  const wanted = found.map((passages) =>
    passages.filter(({ score }) => minScore === undefined || score >= minScore),
  );
  return merge(wanted).slice(0, limit);
}

/** Merges ranked lists by rank: the first of each list, then the second. A passage of several lists stands once. */
function merge(lists: readonly (readonly Passage[])[]): readonly Passage[] {
  if (lists.length === 1) return lists[0] ?? [];
  const longest = Math.max(...lists.map(({ length }) => length));
  const merged = new Map<string, Passage>();
  for (let rank = 0; rank < longest; rank += 1) {
    for (const list of lists) {
      const passage = list[rank];
      if (passage === undefined) continue;
      const { fileId, page, sheet, heading, text } = passage;
      // Equal texts at different places of a document are different passages.
      const key = JSON.stringify([fileId, page, sheet, heading, text]);
      const known = merged.get(key);
      if (known === undefined || known.score < passage.score) merged.set(key, passage);
    }
  }
  return [...merged.values()];
}
