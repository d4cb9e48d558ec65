import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { dataParameters, type RowCondition, type RowFilter } from "../../lib/tables/row-filter.ts";
import { stringifySearch } from "../../lib/url-state.ts";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";
import { sendFile } from "../send-file.ts";
import { nextOffset, useList } from "../use-list.ts";
import type { DataRows } from "./data-tables.ts";

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
export function useDatasetRows(
  { id, version }: Pick<Dataset, "id" | "version">,
  isWanted: boolean,
) {
  return useList<DatasetRow, string | undefined>({
    isWanted,
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

/** Where a list would go on whose next row has no place that fits an address. */
const NO_PLACE = "no place";

/** The rows of a dataset that meet conditions, in some order: those that BI keys read, which may be a minute old. */
export function useFilteredRows(
  { name, version }: Pick<Dataset, "name" | "version">,
  filter: RowFilter,
  isWanted: boolean,
) {
  return useList<DatasetRow, string | undefined>({
    isWanted,
    key: [...KEY, name, "filtered", version, ...dataParameters(filter).flat()],
    first: undefined,
    next: ({ has_more: hasMore, next }) => next ?? (hasMore === true ? NO_PLACE : undefined),
    load: (after, signal) => {
      if (after === NO_PLACE) {
        throw new Error("More rows follow. Their values are too long to go on by; download them.");
      }
      const more = { limit: PAGE, ...(after !== undefined && { after }) };
      return readData(name, filter, { more, signal });
    },
  });
}

/** Resolves when a condition can be asked; rejects with what is wrong with it. */
export async function tryCondition(name: string, condition: RowCondition): Promise<void> {
  await readData(name, { conditions: [condition], sort: "" }, { more: { limit: 1 } });
}

interface DataAsked {
  readonly more: { readonly limit: number; readonly after?: string };
  readonly signal?: AbortSignal;
}

function readData(name: string, filter: RowFilter, { more, signal }: DataAsked) {
  const conditions: Record<string, string[]> = {};
  for (const [parameter, value] of dataParameters(filter)) {
    conditions[parameter] = [...(conditions[parameter] ?? []), value];
  }
  const params = { path: { name }, query: { ...more, ...conditions } };
  // Without `format` the rows come as JSON.
  return unwrap(
    api.GET("/api/v1/data/{name}", { params, ...(signal && { signal }) }),
  ) as Promise<DataRows>;
}

/** The path at which `/v1/data` has the same rows. */
export function filteredRowsPath(name: string, filter: RowFilter): string {
  const query = new URLSearchParams(dataParameters(filter).map(([key, value]) => [key, value]));
  return `/v1/data/${encodeURIComponent(name)}?${query}`;
}

/** The address at which all rows that meet the conditions are downloaded, as CSV for spreadsheets. */
export function filteredRowsAddress(name: string, filter: RowFilter): string {
  return `/api${filteredRowsPath(name, filter)}&format=csv&spreadsheet=1`;
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
    // One that is cancelled may have been written by then.
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
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
