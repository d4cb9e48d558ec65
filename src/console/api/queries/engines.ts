import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { putAnswer } from "../put-answer.ts";
import type { components } from "../schema.d.ts";

export type Engine = components["schemas"]["Engine"];

const KEY = ["engines"] as const;
const EVERY_MS = 5_000;

/** The model servers as the gateway sees them, for administrators. */
export function useEngines(isWanted = true) {
  return useQuery({
    queryKey: KEY,
    queryFn: ({ signal }) => unwrap(api.GET("/api/admin/engines", { signal })),
    enabled: isWanted,
    refetchInterval: EVERY_MS,
  });
}

/** Asks the model servers now; what depends on them is read anew. */
export function useRecheckEngines() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.POST("/api/admin/engines/recheck")),
    onSuccess: (engines) => putAnswer(client, KEY, engines),
    onSettled: () =>
      Promise.all([
        client.invalidateQueries({ queryKey: ["status"] }),
        client.invalidateQueries({ queryKey: ["models"] }),
      ]),
  });
}
