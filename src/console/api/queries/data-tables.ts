import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

export type DataRows = components["schemas"]["DataRows"];

/** The tables that the session may read: those built in, and datasets. */
export function useDataTables() {
  return useQuery({
    queryKey: ["data-tables"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/v1/data", { signal })),
    staleTime: 30_000,
  });
}

/** Runs a statement as the session; it leaves a line among the statements. */
export function useRunStatement() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ sql, most }: { readonly sql: string; readonly most: number }) =>
      unwrap(
        api.POST("/api/v1/data/query", { body: { sql, params: [], max_rows: most } }),
      ) as Promise<DataRows>,
    onSettled: () => client.invalidateQueries({ queryKey: ["bi-statements"] }),
  });
}

/** Reads the first rows of a table as the session. */
export function useReadTable() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, most }: { readonly name: string; readonly most: number }) =>
      unwrap(
        api.GET("/api/v1/data/{name}", {
          params: { path: { name }, query: { limit: most } },
        }),
      ) as Promise<DataRows>,
    onSettled: () => client.invalidateQueries({ queryKey: ["bi-statements"] }),
  });
}
