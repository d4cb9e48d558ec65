import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components, paths } from "../schema.d.ts";
import { slowedDown, useList } from "../use-list.ts";

export type GatewayEvent = components["schemas"]["Event"];
export type WatchedFolder = components["schemas"]["WatchedFolder"];
export type EventFilters = Omit<
  NonNullable<paths["/api/admin/events"]["get"]["parameters"]["query"]>,
  "limit" | "before"
>;
export type Sink = NonNullable<EventFilters["sink"]>;

const KEY = ["events"] as const;
const PAGE = 100;
const EVERY_MS = 5_000;
const PENDING_MS = 1_000;

/** What is delivered to others, the newest first. */
export function useEvents(filters: EventFilters) {
  return useList<GatewayEvent, string | undefined>({
    key: [...KEY, "list", filters],
    first: undefined,
    next: (page) => (page.has_more ? page.data.at(-1)?.id : undefined),
    load: (before, signal) => {
      const query = { ...filters, limit: PAGE, ...(before !== undefined && { before }) };
      return unwrap(api.GET("/api/admin/events", { params: { query }, signal }));
    },
    every: () => EVERY_MS,
  });
}

/** One event; until it is delivered or given up it is asked for again. */
export function useEvent(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/admin/events/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) =>
      slowedDown(state.data?.state === "pending" ? PENDING_MS : EVERY_MS, state),
  });
}

/** Tries one event again at once. */
export function useRedriveEvent() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) =>
      unwrap(api.POST("/api/admin/events/{id}/redrive", { params: { path: { id } } })),
    onSuccess: () => invalidate(client),
  });
}

/** Tries all dead events of these sinks again, of one kind where it is given; returns how many. */
export function useRedriveDead() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ sinks, kind }: { readonly sinks: readonly Sink[]; kind?: string }) => {
      let redriven = 0;
      for (const sink of sinks) {
        let hasMore = true;
        // One call takes as many as the server does at once.
        while (hasMore) {
          const body = { state: "dead" as const, sink, ...(kind !== undefined && { kind }) };
          const done = await unwrap(api.POST("/api/admin/events/redrive", { body }));
          redriven += done.redriven;
          hasMore = done.has_more && done.redriven > 0;
        }
      }
      return redriven;
    },
    // Some may be under way when a later call fails.
    onSettled: () => invalidate(client),
  });
}

/** The folders whose files become events. */
export function useWatchedFolders() {
  return useQuery({
    queryKey: [...KEY, "folders"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/admin/watched-folders", { signal })),
    refetchInterval: ({ state }) => slowedDown(EVERY_MS, state),
  });
}

/** The badge of the navigation counts dead events too. */
async function invalidate(client: ReturnType<typeof useQueryClient>): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: KEY }),
    client.invalidateQueries({ queryKey: ["status"] }),
  ]);
}
