import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";
import { nextCursor, slowedDown, useList } from "../use-list.ts";
import { MOVING_MS, RESTING_MS, STORES_KEY } from "./vector-stores.ts";

type Schemas = components["schemas"];
export type StoreFile = Schemas["VectorStoreFile"];
export type FileBatch = Schemas["VectorStoreFileBatch"];
export type Chunking = NonNullable<Schemas["NewVectorStoreFile"]["chunking_strategy"]>;

const PAGE = 100;
const STATES = ["in_progress", "completed", "failed", "cancelled"] as const;
export type FileState = (typeof STATES)[number];

/** Returns the state that a text names; undefined for any other text. */
export function toFileState(text: string): FileState | undefined {
  return STATES.find((state) => state === text);
}

interface FilesOf {
  readonly storeId: string;
  readonly state: FileState | undefined;
  /** Files move while the store does: one that is waiting may be on a page that is not fetched yet. */
  readonly isMoving: boolean;
}

/** The files of a store, those that were added last first. */
export function useStoreFiles({ storeId, state, isMoving }: FilesOf) {
  return useList<StoreFile, string>({
    key: [...STORES_KEY, storeId, "files", state ?? ""],
    first: "",
    next: nextCursor,
    every: (files) =>
      isMoving || files.some(({ status }) => status === "in_progress") ? MOVING_MS : RESTING_MS,
    load: (after, signal) => {
      const query = {
        limit: PAGE,
        ...(after !== "" && { after }),
        ...(state !== undefined && { filter: state }),
      };
      const params = { path: { id: storeId }, query };
      return unwrap(api.GET("/api/v1/vector_stores/{id}/files", { params, signal }));
    },
  });
}

/** What was read from a file: its chunks in order. */
export function useFileContent(storeId: string, fileId: string, isWanted: boolean) {
  return useQuery({
    queryKey: [...STORES_KEY, storeId, "content", fileId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/vector_stores/{id}/files/{file_id}/content", {
          params: { path: { id: storeId, file_id: fileId } },
          signal,
        }),
      ),
    enabled: isWanted,
  });
}

/** Adds a file to a store; one that failed is read again. */
export function addStoreFile(
  storeId: string,
  fileId: string,
  chunking: Chunking | undefined,
): Promise<StoreFile> {
  return unwrap(
    api.POST("/api/v1/vector_stores/{id}/files", {
      params: { path: { id: storeId } },
      body: { file_id: fileId, ...(chunking && { chunking_strategy: chunking }) },
    }),
  );
}

export function useReadAgain(storeId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, chunking_strategy: chunking }: StoreFile) =>
      addStoreFile(storeId, id, chunking),
    onSettled: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

/** Takes a file out of a store, and deletes the file itself where that is asked for. */
export function useRemoveFile(storeId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: async ({ id, isDeleted }: { readonly id: string; readonly isDeleted: boolean }) => {
      if (isDeleted) return unwrap(api.DELETE("/api/v1/files/{id}", { params: { path: { id } } }));
      const params = { path: { id: storeId, file_id: id } };
      return unwrap(api.DELETE("/api/v1/vector_stores/{id}/files/{file_id}", { params }));
    },
    onSettled: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

/** Adds the first 500 new or changed files of a folder of the server. */
export function useAddFolder(storeId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (ext: { readonly file_connection: string; readonly glob: string }) =>
      unwrap(
        api.POST("/api/v1/vector_stores/{id}/file_batches", {
          params: { path: { id: storeId } },
          body: { ext },
        }),
      ),
    onSettled: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}

/** How far the files of a folder are. */
export function useFileBatch(storeId: string, batchId: string) {
  return useQuery({
    queryKey: [...STORES_KEY, storeId, "batch", batchId],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/v1/vector_stores/{id}/file_batches/{batch_id}", {
          params: { path: { id: storeId, batch_id: batchId } },
          signal,
        }),
      ),
    enabled: batchId !== "",
    refetchInterval: ({ state }) =>
      state.data?.status === "in_progress" ? slowedDown(MOVING_MS, state) : false,
  });
}

export function useCancelBatch(storeId: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (batchId: string) =>
      unwrap(
        api.POST("/api/v1/vector_stores/{id}/file_batches/{batch_id}/cancel", {
          params: { path: { id: storeId, batch_id: batchId } },
        }),
      ),
    onSettled: () => client.invalidateQueries({ queryKey: STORES_KEY }),
  });
}
