import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

export type KeptChat = components["schemas"]["Chat"];
export type StoredDocument = components["schemas"]["ChatDocument"];
export type ChatList = components["schemas"]["ChatList"];

const KEY = ["chats"] as const;
/** As many as a user can have, so that the history is one page. */
const ALL = 50;
const OUTLIVING_BYTES = 60_000;

/** One's own chats without their documents, the newest first. */
export function useChats(search: string) {
  return useQuery({
    queryKey: [...KEY, "list", search],
    queryFn: ({ signal }) => {
      const query = { limit: ALL, ...(search !== "" && { search }) };
      return unwrap(api.GET("/api/chats", { params: { query }, signal }));
    },
    placeholderData: (before) => before,
  });
}

/** A chat with its document, which other tabs may change: it is read anew each time it is opened. */
export function useKeptChat(id: string | undefined) {
  return useQuery({
    queryKey: [...KEY, "one", id],
    queryFn: ({ signal }) => loadChat(id ?? "", signal),
    enabled: id !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
}

/** Reads a chat as it is stored now. */
export function loadChat(id: string, signal?: AbortSignal) {
  const params = { path: { id } };
  return unwrap(api.GET("/api/chats/{id}", { params, ...(signal && { signal }) }));
}

/** Keeps a chat: a new one, or another revision of one that is kept. */
export function useKeepChat() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, document, revision, replaces }: ChatToKeep) => {
      const keepalive = outlivesTab(document);
      if (revision === undefined) {
        return unwrap(api.POST("/api/chats", { body: { id, document, replaces }, keepalive }));
      }
      const params = { path: { id } };
      const save = { document, if_revision: revision };
      return unwrap(api.PUT("/api/chats/{id}", { params, body: save, keepalive }));
    },
    onSettled: () => client.invalidateQueries({ queryKey: [...KEY, "list"] }),
  });
}

/** Whether its save is to go on when the tab is closed. Browsers send no more than 64 KiB then. */
function outlivesTab(stored: StoredDocument): boolean {
  return document.hidden && new Blob([JSON.stringify(stored)]).size <= OUTLIVING_BYTES;
}

export interface ChatToKeep {
  readonly id: string;
  readonly document: StoredDocument;
  /** What is kept of it; undefined for a new chat. */
  readonly revision: number | undefined;
  /** The chats that give way to a new one, as they were announced. */
  readonly replaces: string[];
}

/** Pins, unpins or renames a chat. */
export function useChangeChat() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...body }: components["schemas"]["ChatChange"] & { readonly id: string }) =>
      unwrap(api.PATCH("/api/chats/{id}", { params: { path: { id } }, body })),
    onSettled: () => client.invalidateQueries({ queryKey: [...KEY, "list"] }),
  });
}

export function useDeleteChat() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (id: string) => unwrap(api.DELETE("/api/chats/{id}", { params: { path: { id } } })),
    onSettled: () => client.invalidateQueries({ queryKey: [...KEY, "list"] }),
  });
}

/** Deletes all of one's own chats, pinned ones too. */
export function useDeleteChats() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/chats")),
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  });
}
