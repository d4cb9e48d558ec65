import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useCallback } from "react";

/** A list as a table takes it: the rows of all pages so far, and what there is beyond. */
export interface ListState<Row> {
  readonly rows: readonly Row[];
  /** How many there are on all pages, where the server tells. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
  readonly more: () => void;
  readonly isLoading: boolean;
  readonly error: Error | null;
  readonly retry: () => void;
  /** How far back a search of the server has come, while it has found less than a page; RFC 3339. */
  readonly searchedFrom?: string | undefined;
  /** The time of the rows in Unix milliseconds: when they were fetched, unless the server says what time they show. */
  readonly asOf: number;
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly total?: number;
  readonly has_more?: boolean;
  /** Where a list without numbers goes on. */
  readonly next?: string | null;
  readonly searched_from?: string;
  /** The time that the page shows, where it is older than the answer. */
  readonly as_of?: string;
}

interface Asked<Row, Place> {
  readonly key: readonly unknown[];
  readonly load: (place: Place, signal: AbortSignal) => Promise<Page<Row>>;
  readonly first: Place;
  /** The place of the page after this one; undefined after the last. An empty page need not be the last. */
  readonly next: (page: Page<Row>, place: Place) => Place | undefined;
  /** How often what is shown is fetched anew, in milliseconds, by its rows; many pages more rarely. Hidden tabs ask nothing. */
  readonly every?: (rows: readonly Row[]) => number;
  /** False: it is not asked for now. */
  readonly isWanted?: boolean;
}

/** Fetching a list anew fetches all of its pages: with more than these it is left to the person. */
const MOST_REFRESHED = 3;

/** Fetches a list page by page. Rows stay while filters change. */
export function useList<Row, Place>(asked: Asked<Row, Place>): ListState<Row> {
  const { key, load, first, next, every, isWanted = true } = asked;
  const query = useInfiniteQuery({
    enabled: isWanted,
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam as Place, signal),
    initialPageParam: first as unknown,
    getNextPageParam: (page, _, place) => next(page, place as Place),
    placeholderData: keepPreviousData,
    refetchOnWindowFocus: ({ state }) => (state.data?.pages.length ?? 0) <= MOST_REFRESHED,
    refetchInterval: ({ state }) => {
      if (every === undefined) return false;
      const pages = state.data?.pages ?? [];
      const times = pages.length > MOST_REFRESHED ? pages.length : 1;
      return slowedDown(times * every(pages.flatMap(({ data }) => data)), state);
    },
  });
  const { fetchNextPage, isFetching, refetch } = query;
  const more = useCallback(() => {
    if (!isFetching) void fetchNextPage();
  }, [fetchNextPage, isFetching]);
  const retry = useCallback(() => void refetch(), [refetch]);
  const pages = query.data?.pages ?? [];
  return {
    rows: pages.flatMap((page) => page.data),
    total: pages.at(-1)?.total,
    hasMore: query.hasNextPage && !query.isFetchNextPageError,
    more,
    isLoading: query.isPending,
    error: query.error,
    retry,
    searchedFrom: query.hasNextPage ? pages.at(-1)?.searched_from : undefined,
    asOf: timeOf(pages[0]) ?? query.dataUpdatedAt,
  };
}

function timeOf(page: Pick<Page<unknown>, "as_of"> | undefined): number | undefined {
  return page?.as_of === undefined ? undefined : Date.parse(page.as_of);
}

interface WholeAnswer {
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly refetch: () => unknown;
  readonly dataUpdatedAt: number;
}

/** A list that one answer brings whole, as a table takes it; without rows while there is no answer. */
export function wholeList<Row>(
  { error, isPending, refetch, dataUpdatedAt }: WholeAnswer,
  rows: readonly Row[] | undefined,
): ListState<Row> {
  return {
    ...{ rows: rows ?? [], total: rows?.length, error, isLoading: isPending, asOf: dataUpdatedAt },
    ...{ hasMore: false, more: () => undefined, retry: () => void refetch() },
  };
}

/** The place after a page of a list with OpenAI's parameters: the id of its last row. */
export function nextCursor(page: Page<{ readonly id: string }>): string | undefined {
  return page.has_more === true ? page.data.at(-1)?.id : undefined;
}

/** The pause before the next fetch of what is polled: errors make it longer, up to eight times. */
export function slowedDown(ms: number, state: { readonly fetchFailureCount: number }): number {
  return ms * 2 ** Math.min(3, state.fetchFailureCount);
}

/** The place after a page of a counted list. */
export function nextOffset(page: Page<unknown>, offset: number): number | undefined {
  const end = offset + page.data.length;
  return page.data.length > 0 && end < (page.total ?? 0) ? end : undefined;
}
