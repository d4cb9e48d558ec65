import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";

export type Connection = components["schemas"]["Connection"];
export type NewConnection = components["schemas"]["NewConnection"];
export type ConnectionChange = components["schemas"]["ConnectionChange"];
export type ConnectionTrial = components["schemas"]["ConnectionTrial"];
export type ConnectionTable = components["schemas"]["ConnectionTables"]["data"][number];

const KEY = ["connections"] as const;
/** Whether there are connections decides which tools can be used. */
const TOOLS = ["tools"] as const;
const PAGE = 100;

/** The saved connections by name. */
export function useConnections() {
  return useList<Connection, number>({
    key: [...KEY, "list"],
    first: 0,
    next: nextOffset,
    load: (offset, signal) =>
      unwrap(api.GET("/api/connections", { params: { query: { limit: PAGE, offset } }, signal })),
  });
}

export function useConnection(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/connections/{id}", { params: { path: { id } }, signal })),
  });
}

/** Its tables and views with their columns. The database is asked, so only where somebody looks. */
export function useConnectionTables(id: string, isWanted: boolean) {
  return useQuery({
    queryKey: [...KEY, id, "tables"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/connections/{id}/tables", { params: { path: { id } }, signal })),
    enabled: isWanted,
    retry: false,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
  });
}

export function useAddConnection() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewConnection) => unwrap(api.POST("/api/connections", { body })),
    onSuccess: () => refresh(client, KEY, TOOLS),
  });
}

/** Tries a connection that is not saved. */
export function useTryConnection() {
  return useMutation({
    mutationFn: (body: NewConnection) => unwrap(api.POST("/api/connections/test", { body })),
  });
}

export function useTestConnection(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/connections/{id}/test", { params: { path: { id } } })),
    onSettled: () => refresh(client, KEY),
  });
}

export function useChangeConnection(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: ConnectionChange) =>
      unwrap(api.PATCH("/api/connections/{id}", { params: { path: { id } }, body })),
    onSuccess: () => refresh(client, KEY),
  });
}

export function useDeleteConnection(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/connections/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      client.removeQueries({ queryKey: [...KEY, id] });
      return refresh(client, [...KEY, "list"], TOOLS);
    },
  });
}

function refresh(
  client: ReturnType<typeof useQueryClient>,
  ...keys: ReadonlyArray<readonly string[]>
) {
  return Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })));
}
