import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import { forgetQuery } from "../forget-query.ts";
import type { components } from "../schema.d.ts";
import { nextOffset, useList } from "../use-list.ts";
import { forgetUserName } from "./user-names.ts";

export type User = components["schemas"]["User"];
export type NewUser = components["schemas"]["NewUser"];
export type UserChange = components["schemas"]["UserChange"];

const KEY = ["users"] as const;
/** The license counts the active users. */
const LICENSE_KEY = ["license"] as const;
const PAGE = 100;
const FOUND = 20;

/** The users by name, for administrators. */
export function useUsers(filters: { readonly search?: string | undefined }) {
  return useList<User, number>({
    key: [...KEY, "list", filters],
    first: 0,
    next: nextOffset,
    load: (offset, signal) =>
      unwrap(
        api.GET("/api/admin/users", {
          params: { query: { ...search(filters.search), limit: PAGE, offset } },
          signal,
        }),
      ),
  });
}

/** Users whose name has what is typed, for a picker. */
export function useFoundUsers(typed: string, isWanted: boolean) {
  return useQuery({
    queryKey: [...KEY, "found", typed],
    queryFn: ({ signal }) =>
      unwrap(
        api.GET("/api/admin/users", {
          params: { query: { ...search(typed), limit: FOUND } },
          signal,
        }),
      ),
    enabled: isWanted,
    staleTime: 10_000,
  });
}

/** One user; not asked for while nobody wants it. */
export function useUser(id: string, isWanted = true) {
  return useQuery({
    enabled: isWanted,
    queryKey: [...KEY, id],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/admin/users/{id}", { params: { path: { id } }, signal })),
  });
}

export function useCreateUser() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: NewUser) => unwrap(api.POST("/api/admin/users", { body })),
    onSuccess() {
      void client.invalidateQueries({ queryKey: LICENSE_KEY });
      return client.invalidateQueries({ queryKey: KEY });
    },
  });
}

export function useChangeUser(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: UserChange) =>
      unwrap(api.PATCH("/api/admin/users/{id}", { params: { path: { id } }, body })),
    onSuccess() {
      void client.invalidateQueries({ queryKey: LICENSE_KEY });
      return client.invalidateQueries({ queryKey: KEY });
    },
  });
}

export function useDeleteUser(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/admin/users/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      forgetQuery(client, [...KEY, id]);
      forgetUserName(client, id);
      void client.invalidateQueries({ queryKey: LICENSE_KEY });
      return client.invalidateQueries({ queryKey: [...KEY, "list"] });
    },
  });
}

/** The accounts of the sign-in provider that a user is linked to. */
export function useIdentities(id: string) {
  return useQuery({
    queryKey: [...KEY, id, "identities"],
    queryFn: ({ signal }) =>
      unwrap(api.GET("/api/admin/users/{id}/identities", { params: { path: { id } }, signal })),
  });
}

export function useLinkIdentity(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: components["schemas"]["NewIdentity"]) =>
      unwrap(api.POST("/api/admin/users/{id}/identities", { params: { path: { id } }, body })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...KEY, id, "identities"] }),
  });
}

export function useUnlinkIdentities(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () =>
      unwrap(api.DELETE("/api/admin/users/{id}/identities", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: [...KEY, id, "identities"] }),
  });
}

/** An empty text is no filter. */
function search(text: string | undefined): { search?: string } {
  return text === undefined || text === "" ? {} : { search: text };
}
