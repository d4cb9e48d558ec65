import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components, paths } from "../schema.d.ts";
import { type ListState, slowedDown, useList, wholeList } from "../use-list.ts";

export type MeteredRequest = components["schemas"]["MeteredRequest"];
type RequestPage = components["schemas"]["MeteredRequestList"];
type RequestQuery = NonNullable<paths["/api/requests"]["get"]["parameters"]["query"]>;
export type RequestFilters = Omit<RequestQuery, "limit" | "before" | "format">;

const KEY = ["requests"] as const;
const PAGE = 100;
const LIVE_MS = 1_000;
const MINUTE_MS = 60_000;
/** The longest of these that one page covers shows what came right after a request. */
const WINDOWS_MS = [60 * MINUTE_MS, MINUTE_MS, 1_000];

/** The single requests that one may see, the newest first, page by page. */
export function useRequests(filters: RequestFilters, isWanted: boolean) {
  return useList<MeteredRequest, string | undefined>({
    key: [...KEY, "list", filters],
    isWanted,
    first: undefined,
    next: (page) => page.next ?? undefined,
    load: async (before, signal) => {
      const query = { ...filters, limit: PAGE, ...(before !== undefined && { before }) };
      const { searched_from: searchedFrom, ...page } = await loadRequests(query, signal);
      // A whole page found what it searched for.
      return page.data.length < PAGE ? { ...page, searched_from: searchedFrom } : page;
    },
  });
}

/** The newest requests, each second while the tab is seen; errors make it rarer. There is one page of them. */
export function useLatestRequests(
  filters: RequestFilters,
  isWanted: boolean,
): ListState<MeteredRequest> {
  const query = useQuery({
    enabled: isWanted,
    queryKey: [...KEY, "latest", filters],
    queryFn: ({ signal }) => loadRequests({ ...filters, limit: PAGE }, signal),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => slowedDown(LIVE_MS, state),
    retry: false,
  });
  // How many there are in all is not asked for.
  return { ...wholeList(query, query.data?.data), total: undefined };
}

export function useRequest(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/requests/{id}", { params: { path: { id } }, signal })),
  });
}

/** What a key called right before and right after a request, the newest first. */
export function useRequestsAround(
  { id, key_id: key, started_at: at }: MeteredRequest,
  few: number,
) {
  return useQuery({
    queryKey: [...KEY, id, "around"],
    queryFn: async ({ signal }) => {
      const [after, before] = await Promise.all([
        loadNext(key, at, signal),
        loadRequests({ key_id: key, to: later(at, 1), limit: few + 1 }, signal),
      ]);
      const isOther = (request: MeteredRequest) => request.id !== id;
      return {
        after: after.filter(isOther).slice(-few),
        before: before.data.filter(isOther).slice(0, few),
      };
    },
    staleTime: 30_000,
  });
}

/** Lists give the newest first, so what came right after is at the end of a range that one page holds. */
async function loadNext(key: string, at: string, signal: AbortSignal): Promise<MeteredRequest[]> {
  let found: MeteredRequest[] = [];
  for (const windowMs of WINDOWS_MS) {
    const query = { key_id: key, from: later(at, 1), to: later(at, windowMs), limit: PAGE };
    const page = await loadRequests(query, signal);
    found = page.data;
    if (!page.has_more) break;
  }
  return found;
}

function later(time: string, ms: number): string {
  return new Date(Date.parse(time) + ms).toISOString();
}

/** The same address answers CSV where that is asked for, which this never does. */
async function loadRequests(query: RequestQuery, signal: AbortSignal): Promise<RequestPage> {
  return (await unwrap(api.GET("/api/requests", { params: { query }, signal }))) as RequestPage;
}
