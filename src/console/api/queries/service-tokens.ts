import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";

export type ServiceToken = components["schemas"]["ServiceToken"];
export type IssuedServiceToken = components["schemas"]["IssuedServiceToken"];
export type NewServiceToken = components["schemas"]["NewServiceToken"];
export type ServiceScope = NewServiceToken["scopes"][number];

const KEY = ["service-tokens"] as const;
const PAGE = 100;

/** The service tokens, the newest first, for administrators. */
export function useServiceTokens(filters: { readonly search?: string }) {
  return useList<ServiceToken, number>({
    key: [...KEY, "list", filters],
    first: 0,
    next: nextOffset,
    load: (offset, signal) =>
      unwrap(
        api.GET("/api/service-tokens", {
          params: { query: { ...filters, limit: PAGE, offset } },
          signal,
        }),
      ),
  });
}

export function useServiceToken(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/service-tokens/{id}", { params: { path: { id } }, signal })),
  });
}

export function useIssueServiceToken() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewServiceToken) => unwrap(api.POST("/api/service-tokens", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useChangeServiceToken(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: components["schemas"]["ServiceTokenChange"]) =>
      unwrap(api.PATCH("/api/service-tokens/{id}", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRotateServiceToken(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.POST("/api/service-tokens/{id}/rotate", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useRevokeServiceToken(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/service-tokens/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...KEY, id]);
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}
