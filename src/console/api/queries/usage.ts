import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components, paths } from "../schema.d.ts";
import { useList } from "../use-list.ts";

export type UsageRow = components["schemas"]["UsageRow"];
export type UsageReport = components["schemas"]["UsageReport"];
export type UsageQuery = NonNullable<paths["/api/usage"]["get"]["parameters"]["query"]>;

const KEY = ["usage"] as const;
const PAGE = 200;
const EVERY_MS = 30_000;
const MODELS = 1_000;

/** A report of usage, every 30 seconds anew while its range goes on. */
export function useUsageReport(query: UsageQuery, isLive: boolean) {
  return useQuery({
    queryKey: [...KEY, "report", query],
    queryFn: ({ signal }) => loadUsage(query, signal),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && EVERY_MS,
  });
}

/** The groups of a report, page by page. */
export function useUsageRows(query: UsageQuery, isLive: boolean) {
  return useList<UsageRow, number>({
    key: [...KEY, "rows", query],
    first: 0,
    next: (page, offset) => (page.has_more ? offset + page.data.length : undefined),
    load: (offset, signal) => loadUsage({ ...query, limit: PAGE, offset }, signal),
    ...(isLive && { every: () => EVERY_MS }),
  });
}

/** The names of the models that were called in the last 30 days, the most called first. */
export function useUsedModels() {
  return useQuery({
    queryKey: [...KEY, "models"],
    queryFn: async ({ signal }) => {
      const { data } = await loadUsage({ group: "model", limit: MODELS }, signal);
      // The calls of tools have none.
      return data.flatMap(({ model }) => (model ? [model] : []));
    },
    staleTime: 60_000,
  });
}

/** The same address answers CSV where that is asked for, which this never does. */
async function loadUsage(query: UsageQuery, signal: AbortSignal): Promise<UsageReport> {
  return (await unwrap(api.GET("/api/usage", { params: { query }, signal }))) as UsageReport;
}
