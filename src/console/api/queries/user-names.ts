import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { api } from "../client.ts";
import { unwrap } from "../errors.ts";

/** As many as one call may name. */
const MOST = 100;
/** Rows of a list ask within a frame or two; what is scrolled past within that time is not asked for. */
const GATHER_MS = 40;
const NAMES = ["user-names"] as const;

interface Asked {
  readonly id: string;
  /** Gets null where there is no such user any more. */
  readonly resolve: (name: string | null) => void;
  readonly reject: (reason: unknown) => void;
}

const gathered = new Set<Asked>();

/** Lets the store hold every name for as long as the page lives, because a user keeps the name. */
export function keepUserNames(client: QueryClient): void {
  const { POSITIVE_INFINITY: forever } = Number;
  client.setQueryDefaults(NAMES, { staleTime: forever, gcTime: forever });
}

/** A user's name, for administrators; null for one who is gone. One call brings those that are asked for together. */
export function useUserName(id: string, isWanted: boolean) {
  return useQuery({
    enabled: isWanted,
    queryKey: keyOf(id),
    queryFn: ({ signal }) => nameOf(id, signal),
  });
}

/** The name that was fetched last, without following changes, which costs a long list too much in each row. */
export function useKnownUserName(id: string): string | null | undefined {
  return useQueryClient().getQueryData<string | null>(keyOf(id));
}

/** Forgets the name of a user who is gone. */
export function forgetUserName(client: QueryClient, id: string): void {
  client.removeQueries({ queryKey: keyOf(id) });
}

/** Fetches the names of users that are not known yet, so that rows which show them need not ask. */
export async function fetchUserNames(
  client: QueryClient,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const unknown = [...new Set(ids)].filter((id) => client.getQueryData(keyOf(id)) === undefined);
  if (unknown.length === 0) return;
  // A row whose name did not come asks for it itself.
  const names = await fetchNames(unknown, signal).catch(() => new Map<string, string>());
  for (const [id, name] of names) client.setQueryData(keyOf(id), name);
}

function keyOf(id: string) {
  return [...NAMES, id] as const;
}

function nameOf(id: string, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve, reject) => {
    const asked = { id, resolve, reject };
    if (gathered.size === 0) setTimeout(() => void askTogether(), GATHER_MS);
    gathered.add(asked);
    signal.addEventListener("abort", () => {
      gathered.delete(asked);
      reject(signal.reason);
    });
  });
}

async function askTogether(): Promise<void> {
  const asked = [...gathered];
  gathered.clear();
  const ids = [...new Set(asked.map(({ id }) => id))];
  for (let from = 0; from < ids.length; from += MOST) {
    const part = ids.slice(from, from + MOST);
    const concerned = asked.filter(({ id }) => part.includes(id));
    try {
      const names = await fetchNames(part);
      for (const { id, resolve } of concerned) resolve(names.get(id) ?? null);
    } catch (error) {
      for (const { reject } of concerned) reject(error);
    }
  }
}

async function fetchNames(
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const query = { ids: ids.join(","), limit: MOST };
  const { data } = await unwrap(
    api.GET("/api/admin/users", { params: { query }, ...(signal && { signal }) }),
  );
  return new Map(data.map(({ id, username }) => [id, username]));
}
