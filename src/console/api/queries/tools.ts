import { useMutation, useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

export type ListedTool = components["schemas"]["ListedTool"];
export type LeftOutTool = components["schemas"]["LeftOutTool"];
export type ToolLevel = ListedTool["level"];
export type ToolTrial = components["schemas"]["ToolTrial"];
export type ToolTrialResult = components["schemas"]["ToolTrialResult"];

const KEY = ["tools"] as const;
const EVERY_MS = 30_000;

/** All tools as they are offered now, and what tool servers list beside them. They come and go with tool servers. */
export function useTools() {
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => unwrap(api.GET("/api/tools", { signal })),
    refetchInterval: EVERY_MS,
  });
}

/** Runs a tool once, as a model would. */
export function useCallTool() {
  return useMutation({
    mutationFn: ({ name, ...body }: ToolTrial & { readonly name: string }) =>
      unwrap(api.POST("/api/tools/{name}/call", { params: { path: { name } }, body })),
  });
}
