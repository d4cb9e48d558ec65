import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components } from "../schema.d.ts";
import { nextCursor, useList } from "../use-list.ts";

export type Assistant = components["schemas"]["Assistant"];
export type AssistantFields = components["schemas"]["AssistantFields"];

const KEY = ["assistants"] as const;
const PAGE = 100;

/** What an assistant is called: its name, or its id where it has none. */
export function assistantName({ name, id }: Pick<Assistant, "name" | "id">): string {
  return name ?? id;
}

/** The assistants that one may use, the newest first. */
export function useAssistants() {
  return useList<Assistant, string>({
    key: [...KEY, "list"],
    first: "",
    next: nextCursor,
    load: (after, signal) => {
      const query = { limit: PAGE, ...(after !== "" && { after }) };
      return unwrap(api.GET("/api/v1/assistants", { params: { query }, signal }));
    },
  });
}

export function useAssistant(id: string) {
  return useQuery({
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/v1/assistants/{id}", { params: { path: { id } }, signal })),
  });
}

export function useCreateAssistant() {
  const changed = useChanged();
  return useMutation({
    mutationFn: (body: AssistantFields) => unwrap(api.POST("/api/v1/assistants", { body })),
    onSuccess: changed,
  });
}

export function useChangeAssistant(id: string) {
  const changed = useChanged();
  return useMutation({
    mutationFn: (body: AssistantFields) =>
      unwrap(api.POST("/api/v1/assistants/{id}", { params: { path: { id } }, body })),
    onSuccess: changed,
  });
}

export function useDeleteAssistant(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/v1/assistants/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...KEY, id]);
      void client.invalidateQueries({ queryKey: ["models"] });
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}

/** Chats choose assistants among the models, so that list is another one, too. */
function useChanged() {
  const client = useQueryClient();
  return async () => {
    await Promise.all([
      client.invalidateQueries({ queryKey: KEY }),
      client.invalidateQueries({ queryKey: ["models"] }),
    ]);
  };
}
