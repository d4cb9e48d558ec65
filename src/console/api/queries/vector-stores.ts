import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components } from "../schema.d.ts";
import { nextCursor, slowedDown, useList } from "../use-list.ts";

type Schemas = components["schemas"];
export type VectorStore = Schemas["VectorStore"];
export type NewVectorStore = Schemas["NewVectorStore"];
export type VectorStoreChange = Schemas["VectorStoreChange"];

export const STORES_KEY = ["vector-stores"] as const;
const PAGE = 100;
/** What moves is at most two seconds behind on the screen; what rests is looked at now and then. */
export const MOVING_MS = 1_000;
export const RESTING_MS = 30_000;

/** Whether files of a store are being read, or its passages embedded again. */
export function isMoving({ status, ext }: VectorStore): boolean {
  return status === "in_progress" || ext.reindex?.status === "in_progress";
}

/** The stores that one may search, the newest first. */
export function useVectorStores() {
  return useList<VectorStore, string>({
    key: [...STORES_KEY, "list"],
    first: "",
    next: nextCursor,
    every: (stores) => (stores.some(isMoving) ? MOVING_MS : RESTING_MS),
    load: (after, signal) => {
      const query = { limit: PAGE, ...(after !== "" && { after }) };
      return unwrap(api.GET("/api/v1/vector_stores", { params: { query }, signal }));
    },
  });
}

export function useVectorStore(id: string) {
  return useQuery({
    queryKey: [...STORES_KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/vector_stores/{id}", { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) =>
      slowedDown(state.data && isMoving(state.data) ? MOVING_MS : RESTING_MS, state),
  });
}

export function useCreateVectorStore() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewVectorStore) => unwrap(api.POST("/api/v1/vector_stores", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

export function useChangeVectorStore(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: VectorStoreChange) =>
      unwrap(api.POST("/api/v1/vector_stores/{id}", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

export function useDeleteVectorStore(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.DELETE("/api/v1/vector_stores/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...STORES_KEY, id]);
      return client.invalidateQueries({ queryKey: [...STORES_KEY, "list"] });
    },
  });
}

/** Embeds all passages again; the empty text is the model of new stores. */
export function useReindex(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (model: string) => {
      const body = model === "" ? {} : { ext: { embedding_model: model } };
      return unwrap(
        api.POST("/api/v1/vector_stores/{id}/reindex", { params: { path: { id } }, body }),
      );
    },
    onSuccess: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

export interface StoreSearch {
  readonly text: string;
  readonly limit: number;
}

/** The passages for a question; nothing is asked while it is empty. */
export function useStoreSearch(id: string, { text, limit }: StoreSearch) {
  return useQuery({
    queryKey: [...STORES_KEY, id, "search", text, limit],
    queryFn: ({ signal }) =>
      unwrap(
        api.POST("/api/v1/vector_stores/{id}/search", {
          params: { path: { id } },
          body: { query: text, max_num_results: limit },
          signal,
        }),
      ),
    enabled: text.trim() !== "",
    // Each search is a call of the embedding model: it is made when somebody asks.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    retry: false,
  });
}

export type FileConnection = components["schemas"]["FileConnection"];

/** The folders of the server, for administrators. */
export function useFileConnections(isWanted: boolean) {
  return useQuery({
    queryKey: ["file-connections"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/admin/file-connections", { signal })),
    enabled: isWanted,
    staleTime: 60_000,
  });
}
