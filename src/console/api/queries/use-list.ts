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
  /** When the rows were fetched, in Unix milliseconds; older rows stay while a refresh fails. */
  readonly asOf: number;
}

interface Page<Row> {
  readonly data: readonly Row[];
  readonly total?: number;
  readonly has_more?: boolean;
}

interface Asked<Row, Place> {
  readonly key: readonly unknown[];
  readonly load: (place: Place, signal: AbortSignal) => Promise<Page<Row>>;
  readonly first: Place;
  /** The place of the page after this one; undefined after the last. An empty page need not be the last. */
  readonly next: (page: Page<Row>, place: Place) => Place | undefined;
  /** How often a list that moves is fetched again, while the tab is seen; errors make it rarer. */
  readonly everyMs?: number;
}

/** Fetches a list page by page. Rows stay while filters change. */
export function useList<Row, Place>(asked: Asked<Row, Place>): ListState<Row> {
  const { key, load, first, next, everyMs } = asked;
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => load(pageParam as Place, signal),
    initialPageParam: first as unknown,
    getNextPageParam: (page, _, place) => next(page, place as Place),
    placeholderData: keepPreviousData,
    // Of a list that somebody pages through every page would be fetched again.
    refetchInterval: ({ state }) =>
      everyMs !== undefined &&
      (state.data?.pages.length ?? 0) <= 1 &&
      everyMs * 2 ** Math.min(3, state.fetchFailureCount),
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
    asOf: query.dataUpdatedAt,
  };
}

/** The place after a page of a counted list. */
export function nextOffset(page: Page<unknown>, offset: number): number | undefined {
  const end = offset + page.data.length;
  return page.data.length > 0 && end < (page.total ?? 0) ? end : undefined;
}
