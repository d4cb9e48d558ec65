import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

export type ToolServer = components["schemas"]["McpServer"];
export type ListedToolServer = components["schemas"]["ListedMcpServer"];
export type ServerTool = components["schemas"]["McpServerTool"];
export type NewToolServer = components["schemas"]["NewMcpServer"];
export type ToolServerChange = components["schemas"]["McpServerChange"];

const KEY = ["tool-servers"] as const;
/** As many as there can be. */
const ALL = 100;
const EVERY_MS = 5_000;

/** All tool servers by name, as the replica that answers sees them. */
export function useToolServers(search: string) {
  return useQuery({
    queryKey: [...KEY, "list", search],
    queryFn: ({ signal }) => {
      const query = { limit: ALL, ...(search !== "" && { search }) };
      return unwrap(api.GET("/api/mcp-servers", { params: { query }, signal }));
    },
    placeholderData: (before) => before,
    refetchInterval: EVERY_MS,
  });
}

/** One tool server with its tools. */
export function useToolServer(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/mcp-servers/{id}", { params: { path: { id } }, signal })),
    refetchInterval: EVERY_MS,
  });
}

/** A change of a tool server, after which its tools and what waits may be others. */
function useServerChange<Given, Result>(change: (given: Given) => Promise<Result>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSettled: () =>
      Promise.all(
        [KEY, ["tools"], ["status"]].map((queryKey) => client.invalidateQueries({ queryKey })),
      ),
  });
}

export function useAddToolServer() {
  return useServerChange((body: NewToolServer) => unwrap(api.POST("/api/mcp-servers", { body })));
}

export function useChangeToolServer(id: string) {
  return useServerChange((body: ToolServerChange) =>
    unwrap(api.PATCH("/api/mcp-servers/{id}", { params: { path: { id } }, body })),
  );
}

export function useCheckToolServer(id: string) {
  return useServerChange((_: undefined) =>
    unwrap(api.POST("/api/mcp-servers/{id}/check", { params: { path: { id } } })),
  );
}

/** Approves tools as they stand in the list of `revision`. */
export function useApproveTools(id: string) {
  return useServerChange((body: { readonly tools: string[]; readonly revision: string }) =>
    unwrap(api.POST("/api/mcp-servers/{id}/approve", { params: { path: { id } }, body })),
  );
}

/** Sets the level of a tool by the name that assistants use; null goes by the server's own words. */
export function useSetToolLevel(id: string) {
  return useServerChange(
    ({ tool, level }: { readonly tool: string; readonly level: ServerTool["level"] | null }) =>
      unwrap(
        api.PATCH("/api/mcp-servers/{id}/tools/{tool}", {
          params: { path: { id, tool } },
          body: { level },
        }),
      ),
  );
}

export function useDeleteToolServer(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/mcp-servers/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      client.removeQueries({ queryKey: [...KEY, id] });
      const changed = [[...KEY, "list"], ["tools"], ["status"]];
      return Promise.all(changed.map((queryKey) => client.invalidateQueries({ queryKey })));
    },
  });
}
