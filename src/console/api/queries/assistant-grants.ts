import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

const PAGE = 100;

/** What an administrator can give an assistant: tools with their levels, and saved connections. */
export function useGrants(isWanted: boolean) {
  return useQuery({
    queryKey: ["assistants", "grants"],
    queryFn: async ({ signal }) => {
      const [tools, sql, files] = await Promise.all([
        unwrap(api.GET("/api/tools", { signal })),
        unwrap(api.GET("/api/connections", { params: { query: { limit: PAGE } }, signal })),
        unwrap(api.GET("/api/admin/file-connections", { signal })),
      ]);
      return {
        tools: tools.data,
        sqlConnections: sql.data.map(({ name }) => name),
        fileConnections: files.data.map(({ name }) => name),
      };
    },
    enabled: isWanted,
  });
}
