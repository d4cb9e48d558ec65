import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components, paths } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";

export type BiKey = components["schemas"]["BiKey"];
export type IssuedBiKey = components["schemas"]["IssuedBiKey"];
export type NewBiKey = components["schemas"]["NewBiKey"];
export type BiKeyChange = components["schemas"]["BiKeyChange"];
export type BiStatement = components["schemas"]["BiStatement"];
export type StatementFilters = Omit<
  NonNullable<paths["/api/admin/bi/statements"]["get"]["parameters"]["query"]>,
  "limit" | "before"
>;

const KEY = ["bi-keys"] as const;
const PAGE = 100;

/** The BI keys, the newest first, for administrators. */
export function useBiKeys(filters: { readonly search?: string }) {
  return useList<BiKey, number>({
    key: [...KEY, "list", filters],
    first: 0,
    next: nextOffset,
    load: (offset, signal) =>
      unwrap(
        api.GET("/api/v1/bi-keys", {
          params: { query: { ...filters, limit: PAGE, offset } },
          signal,
        }),
      ),
  });
}

export function useBiKey(id: string, isWanted = true) {
  return useQuery({
    enabled: isWanted,
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/bi-keys/{id}", { params: { path: { id } }, signal })),
  });
}

export function useIssueBiKey() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewBiKey) => unwrap(api.POST("/api/v1/bi-keys", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useChangeBiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: BiKeyChange) =>
      unwrap(api.PATCH("/api/v1/bi-keys/{id}", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRotateBiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/bi-keys/{id}/rotate", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRevokeBiKey(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/bi-keys/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...KEY, id]);
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}

/** What was asked with BI keys and sessions in the last 30 days, the newest first. */
export function useBiStatements(filters: StatementFilters, most = PAGE) {
  return useList<BiStatement, string | undefined>({
    key: ["bi-statements", filters, most],
    first: undefined,
    next: (page) => (page.has_more ? page.data.at(-1)?.id : undefined),
    load: (before, signal) =>
      unwrap(
        api.GET("/api/admin/bi/statements", {
          params: { query: { ...filters, limit: most, ...(before !== undefined && { before }) } },
          signal,
        }),
      ),
  });
}
