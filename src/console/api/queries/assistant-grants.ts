import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { nextOffset } from "../use-list.ts";

const PAGE = 100;

/** What an administrator can give an assistant: tools with their levels, and saved connections. */
export function useGrants(isWanted: boolean) {
  return useQuery({
    queryKey: ["assistants", "grants"],
    queryFn: async ({ signal }) => {
      const [tools, sqlConnections, files] = await Promise.all([
        unwrap(api.GET("/api/tools", { signal })),
        connectionNames(signal),
        unwrap(api.GET("/api/admin/file-connections", { signal })),
      ]);
      return {
        tools: tools.data,
        sqlConnections,
        fileConnections: files.data.map(({ name }) => name),
      };
    },
    enabled: isWanted,
  });
}

/** Returns the names on all pages. */
async function connectionNames(signal: AbortSignal): Promise<readonly string[]> {
  const names: string[] = [];
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const query = { limit: PAGE, offset };
    const page = await unwrap(api.GET("/api/connections", { params: { query }, signal }));
    names.push(...page.data.map(({ name }) => name));
    offset = nextOffset(page, offset);
  }
  return names;
}
