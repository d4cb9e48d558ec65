import { useQuery } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

const EVERY_MS = 5_000;

/** The gateway's status as far as the caller may know, every five seconds while the tab is seen; errors make it rarer. */
export function useStatus() {
  return useQuery({
    queryKey: ["status"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/status", { signal })),
    refetchInterval: ({ state }) => EVERY_MS * 2 ** Math.min(3, state.fetchFailureCount),
    retry: false,
  });
}

/** What the gateway tells everybody: its version, and what its license warns of. */
export function useHealth() {
  return useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/health", { signal })),
    retry: false,
  });
}
