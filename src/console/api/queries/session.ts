import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";
import type { components } from "../schema.d.ts";

const SESSION_KEY = ["session"] as const;

/** Who is logged in. Fails with status 401 where nobody is. */
export function useSession() {
  return useQuery({
    queryKey: SESSION_KEY,
    queryFn: ({ signal }) => unwrap(api.GET("/api/auth/me", { signal })),
    retry: false,
    staleTime: 60_000,
    // In another tab somebody else may have logged in meanwhile.
    refetchOnWindowFocus: "always",
  });
}

/** How one can log in here. */
export function useLoginMethods() {
  return useQuery({
    queryKey: ["login-methods"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/auth/methods", { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Logs in; everything that was fetched before is fetched anew, for it may have been another's. */
export function useLogin() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: components["schemas"]["Credentials"]) =>
      unwrap(api.POST("/api/auth/login", { body })),
    onSuccess: () => client.invalidateQueries(),
  });
}

/** Changes the password of who is logged in. */
export function useChangePassword() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: components["schemas"]["PasswordChange"]) =>
      unwrap(api.POST("/api/auth/password", { body })),
    onSuccess: () => client.invalidateQueries(),
  });
}

/** The accounts of the sign-in provider that one is linked to. */
export function useOwnIdentities() {
  return useQuery({
    queryKey: [...SESSION_KEY, "identities"],
    queryFn: ({ signal }) => unwrap(api.GET("/api/auth/identities", { signal })),
  });
}

/** Unlinks one's user from all accounts. */
export function useUnlinkOwnIdentities() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(api.DELETE("/api/auth/identities")),
    onSuccess: () => client.invalidateQueries({ queryKey: [...SESSION_KEY, "identities"] }),
  });
}

/** Asks for the provider's page where one's user is linked to an account there. */
export function useLinkOwnAccount() {
  return useMutation({
    mutationFn: (returnTo: string) =>
      unwrap(api.POST("/api/auth/oidc/link", { body: { return_to: returnTo } })),
  });
}

/** Ends the session and forgets all that was fetched. */
export function useLogout() {
  return useMutation({ mutationFn: () => unwrap(api.POST("/api/auth/logout")) });
}
