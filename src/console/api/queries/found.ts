import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

const WORKFLOWS = 3;
const RUNS = 3;

/** The latest runs of the workflows whose name has what is typed. */
export function useFoundRuns(typed: string, isWanted: boolean) {
  return useQuery({
    enabled: isWanted,
    queryKey: ["found-runs", typed],
    queryFn: async ({ signal }) => {
      const search = { search: typed, limit: WORKFLOWS };
      const { data: workflows } = await unwrap(
        api.GET("/api/pipeline/workflows", { params: { query: search }, signal }),
      );
      const pages = await Promise.all(
        workflows.map(({ id }) => {
          const query = { workflow: id, limit: RUNS };
          return unwrap(api.GET("/api/pipeline/runs", { params: { query }, signal }));
        }),
      );
      return pages.flatMap(({ data }) => data);
    },
    staleTime: 10_000,
  });
}
