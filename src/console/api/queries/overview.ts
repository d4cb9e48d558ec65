import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

type UsageReport = components["schemas"]["UsageReport"];
type RequestList = components["schemas"]["MeteredRequestList"];
export type MeteredRequest = components["schemas"]["MeteredRequest"];

const EVERY_MS = 30_000;
const STEPS_EVERY_MS = 5_000;
const TOP = 5;
const KEY = ["overview"] as const;

/*
 * The figures of a day begin where the server says that its day began: the browser's clock may be wrong. `from` is
 * undefined until that is known.
 */

/** Usage hour by hour since then, and its totals. */
export function useHours(from: string | undefined) {
  return useQuery({
    queryKey: [...KEY, "hours", from],
    queryFn: ({ signal }) => loadUsage({ group: "hour", from }, signal),
    enabled: from !== undefined,
    refetchInterval: EVERY_MS,
  });
}

/** The keys with the most calls since then. */
export function useTopKeys(from: string | undefined) {
  return useQuery({
    queryKey: [...KEY, "keys", from],
    queryFn: ({ signal }) => loadUsage({ group: "key", from, limit: TOP }, signal),
    enabled: from !== undefined,
    refetchInterval: EVERY_MS,
  });
}

/** The last calls that failed since then, the newest first. */
export function useLastFailures(from: string | undefined) {
  return useQuery({
    queryKey: [...KEY, "failures", from],
    queryFn: async ({ signal }) => {
      const lists = await Promise.all(
        (["error", "rate_limited"] as const).map((outcome) =>
          loadRequests({ outcome, limit: TOP, ...(from !== undefined && { from }) }, signal),
        ),
      );
      return lists
        .flatMap(({ data }) => data)
        .sort((left, right) => right.started_at.localeCompare(left.started_at))
        .slice(0, TOP);
    },
    enabled: from !== undefined,
    refetchInterval: EVERY_MS,
  });
}

/** Whether any call was ever metered; asked until there is one. */
export function useWasCalled() {
  return useQuery({
    queryKey: [...KEY, "called"],
    queryFn: async ({ signal }) => (await loadRequests({ limit: 1 }, signal)).data.length > 0,
    refetchInterval: ({ state }) => (state.data === true ? false : STEPS_EVERY_MS),
  });
}

/** How many keys there are. */
export function useKeyCount() {
  return useQuery({
    // Beside the lists of keys, which a new key makes anew.
    queryKey: ["api-keys", "count"],
    queryFn: async ({ signal }) => {
      const params = { query: { limit: 1 } };
      return (await unwrap(api.GET("/api/v1/api-keys", { params, signal }))).total;
    },
  });
}

interface UsageQuestion {
  readonly group: string;
  readonly from: string | undefined;
  readonly limit?: number;
}

async function loadUsage({ from, ...rest }: UsageQuestion, signal: AbortSignal) {
  const query = { ...rest, ...(from !== undefined && { from }) };
  // These routes have CSV as well, for those who ask for it.
  return (await unwrap(api.GET("/api/usage", { params: { query }, signal }))) as UsageReport;
}

async function loadRequests(
  query: { readonly limit: number; readonly from?: string; outcome?: MeteredRequest["outcome"] },
  signal: AbortSignal,
) {
  return (await unwrap(api.GET("/api/requests", { params: { query }, signal }))) as RequestList;
}
