import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components, paths } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";
import { useSession } from "./session.ts";
import { fetchUserNames } from "./user-names.ts";

export type ApiKey = components["schemas"]["ApiKey"];
export type IssuedApiKey = components["schemas"]["IssuedApiKey"];
export type NewApiKey = components["schemas"]["NewApiKey"];
export type ApiKeyChange = components["schemas"]["ApiKeyChange"];
export type ApiKeyFilters = Omit<
  NonNullable<paths["/api/v1/api-keys"]["get"]["parameters"]["query"]>,
  "limit" | "offset"
>;

const KEY = ["api-keys"] as const;
const PAGE = 100;
const FOUND = 20;

/** The keys that one may see, the newest first; for administrators with the names of their owners. */
export function useApiKeys(filters: ApiKeyFilters) {
  const client = useQueryClient();
  const isAdmin = useSession().data?.role === "admin";
  return useList<ApiKey, number>({
    key: [...KEY, "list", filters],
    first: 0,
    next: nextOffset,
    load: async (offset, signal) => {
      const query = { ...filters, limit: PAGE, offset };
      const page = await unwrap(api.GET("/api/v1/api-keys", { params: { query }, signal }));
      const owners = page.data.map(({ owner_id: id }) => id);
      if (isAdmin) await fetchUserNames(client, owners, signal);
      return page;
    },
  });
}

/** Keys whose name, id or last four has what is typed, for pickers. */
export function useFoundApiKeys(typed: string, isWanted = true) {
  return useQuery({
    enabled: isWanted,
    queryKey: [...KEY, "found", typed],
    queryFn: ({ signal }) => {
      const query = { ...(typed !== "" && { search: typed }), limit: FOUND };
      return unwrap(api.GET("/api/v1/api-keys", { params: { query }, signal }));
    },
    staleTime: 10_000,
  });
}

/** One key; not asked for while nobody wants it. */
export function useApiKey(id: string, isWanted = true) {
  return useQuery({
    enabled: isWanted,
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/api-keys/{id}", { params: { path: { id } }, signal })),
  });
}

/** What a key has used in the last 30 days, and where its limits stand. */
export function useApiKeyUsage(id: string) {
  return useQuery({
    queryKey: [...KEY, id, "usage"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/api-keys/{id}/usage", { params: { path: { id } }, signal })),
    refetchInterval: 30_000,
  });
}

export function useIssueApiKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewApiKey) => unwrap(api.POST("/api/v1/api-keys", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useChangeApiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ApiKeyChange) =>
      unwrap(api.PATCH("/api/v1/api-keys/{id}", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRotateApiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (overlapSeconds: number) =>
      unwrap(
        api.POST("/api/v1/api-keys/{id}/rotate", {
          params: { path: { id } },
          body: { overlap_seconds: overlapSeconds },
        }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useDeleteApiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/api-keys/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...KEY, id]);
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}
