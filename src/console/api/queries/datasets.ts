import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { stringifySearch } from "../../lib/url-state.ts";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";
import { sendFile } from "../send-file.ts";
import { nextOffset, useList } from "./use-list.ts";

export type Dataset = components["schemas"]["Dataset"];
export type DatasetColumn = components["schemas"]["DatasetColumn"];
export type NewDataset = components["schemas"]["NewDataset"];
export type DatasetChange = components["schemas"]["DatasetChange"];
export type DatasetImport = components["schemas"]["DatasetImport"];
type RowsPage = components["schemas"]["DatasetRows"];
export type DatasetRow = RowsPage["data"][number];

const KEY = ["datasets"] as const;
const PAGE = 100;

/** The datasets that one may read, the newest first. */
export function useDatasets(search: string) {
  return useList<Dataset, number>({
    key: [...KEY, "list", search],
    first: 0,
    next: nextOffset,
    load: (offset, signal) => {
      const query = { limit: PAGE, offset, ...(search !== "" && { search }) };
      return unwrap(api.GET("/api/datasets", { params: { query }, signal }));
    },
  });
}

/** A dataset by its id or name. */
export function useDataset(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/datasets/{id}", { params: { path: { id } }, signal })),
  });
}

/** The rows of one version of a dataset, in their order. */
export function useDatasetRows({ id, version }: Pick<Dataset, "id" | "version">) {
  return useList<DatasetRow, string | undefined>({
    key: [...KEY, id, "rows", version],
    first: undefined,
    next: (page) => (page as RowsPage).next ?? undefined,
    load: async (after, signal) => {
      const query = { limit: PAGE, ...(after !== undefined && { after }) };
      const params = { path: { id }, query };
      // Without `format` the rows come as JSON.
      return (await unwrap(api.GET("/api/datasets/{id}/rows", { params, signal }))) as RowsPage;
    },
  });
}

export function useCreateDataset() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewDataset) => unwrap(api.POST("/api/datasets", { body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useChangeDataset(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: DatasetChange) =>
      unwrap(api.PATCH("/api/datasets/{id}", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useDeleteDataset(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/datasets/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      client.removeQueries({ queryKey: [...KEY, id] });
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}

export type ImportMode = "append" | "replace" | "upsert";

/** A file, and the dataset that it makes or whose rows it changes. */
export interface ImportToSend {
  readonly file: Blob;
  readonly type: string;
  readonly into:
    | { readonly id: string; readonly mode: ImportMode }
    | {
        readonly name: string;
        readonly description: string;
        readonly visibility: string;
        readonly key: string;
      };
  readonly onProgress: (sent: number) => void;
  readonly signal: AbortSignal;
}

export function useImportRows() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ into, file, ...sent }: ImportToSend) =>
      sendFile({ ...sent, body: file, path: importPath(into) }) as Promise<DatasetImport>,
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

function importPath(into: ImportToSend["into"]): string {
  if (!("id" in into)) return `/api/datasets/import${stringifySearch({ ...into })}`;
  const { id, mode } = into;
  return `/api/datasets/${encodeURIComponent(id)}/rows${stringifySearch({ mode })}`;
}

/** The address at which all rows of a dataset are downloaded. */
export function rowsAddress(id: string, format: "csv" | "ndjson", isRaw = false): string {
  const query = stringifySearch({ format, ...(isRaw && { raw: "true" }) });
  return `/api/datasets/${encodeURIComponent(id)}/rows${query}`;
}
