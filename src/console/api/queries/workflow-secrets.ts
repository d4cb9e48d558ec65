import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";

export type WorkflowSecret = components["schemas"]["WorkflowSecret"];

const KEY = ["workflow-secrets"] as const;
const PAGE = 100;

/** The names of the caller's secrets. */
export function useWorkflowSecrets() {
  return useList<WorkflowSecret, number>({
    key: KEY,
    first: 0,
    next: nextOffset,
    load: (offset, signal) =>
      unwrap(
        api.GET("/api/pipeline/secrets", { params: { query: { limit: PAGE, offset } }, signal }),
      ),
  });
}

export function usePutWorkflowSecret() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ name, secret }: { readonly name: string; readonly secret: string }) =>
      unwrap(
        api.PUT("/api/pipeline/secrets/{name}", { params: { path: { name } }, body: { secret } }),
      ),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}

export function useDeleteWorkflowSecret() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) =>
      unwrap(api.DELETE("/api/pipeline/secrets/{name}", { params: { path: { name } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: KEY }),
  });
}
