import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

/** Whose calls are watched: those of one key, or of all keys of one user. */
export interface WatchedCalls {
  readonly key_id?: string;
  readonly user_id?: string;
}

const EVERY_MS = 1_000;
/** A call that is going on at the first look began before it. */
const LONGEST_CALL_MS = 3_600_000;

/**
 * Watches for a call that was not there at the first look, each second while the tab is seen, until one has succeeded.
 * One that fails is returned as well, until a later one comes. The server's clock counts: the browser's may be wrong.
 */
export function useNextCall(watched: WatchedCalls) {
  const before = useRef<string>(undefined);
  const from = useRef<string>(undefined);
  const query = useQuery({
    queryKey: ["next-call", watched],
    queryFn: async ({ signal }) => {
      const since = from.current !== undefined && { from: from.current };
      const params = { query: { ...watched, ...since, limit: 1 } };
      const page = await unwrap(api.GET("/api/requests", { params, signal }));
      // The route has CSV as well, for those who ask for it.
      const { data, to } = page as components["schemas"]["MeteredRequestList"];
      // What came earlier is searched once, not each second.
      from.current ??= new Date(Date.parse(to) - LONGEST_CALL_MS).toISOString();
      const newest = data[0];
      before.current ??= newest?.id ?? "none";
      return newest === undefined || newest.id === before.current ? null : newest;
    },
    gcTime: 0,
    staleTime: 0,
    retry: false,
    refetchInterval: ({ state }) =>
      state.data?.success === true ? false : EVERY_MS * 2 ** Math.min(4, state.fetchFailureCount),
  });
  return { call: query.data ?? undefined, error: query.error };
}
