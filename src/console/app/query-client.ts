import { MutationCache, type Query, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/errors.ts";

const MAX_TRIES = 2;
/** No answer, or that of a gateway which starts, of its database that is away, or of a proxy before it. */
const AWAY: ReadonlySet<number> = new Set([0, 502, 503, 504]);
/** What goes on failing while other calls are answered is not asked for with each of them. */
const PAUSE_MS = 5_000;
/** Each failure doubles the pause, so often at most: a search that is too expensive is a 503 as well. */
const DOUBLED_MOST = 6;

/** Returns the store of what was fetched. What failed while the gateway was away is fetched again once any call succeeds. */
export function createQueryClient(): QueryClient {
  const onSuccess = () => void client.refetchQueries({ type: "active", predicate: isLost });
  const client = new QueryClient({
    queryCache: new QueryCache({ onSuccess }),
    mutationCache: new MutationCache({ onSuccess }),
    defaultOptions: {
      // The browser knows of its network alone. Without it a gateway on this machine still answers, and a change that
      // waited for it would be made later, when nobody expects it any more.
      mutations: { networkMode: "always" },
      queries: {
        networkMode: "always",
        refetchOnReconnect: true,
        staleTime: 2_000,
        retry: (count, error) => count < MAX_TRIES && isPassing(error),
      },
    },
  });
  return client;
}

function isLost({ state }: Query): boolean {
  const { error, errorUpdatedAt, errorUpdateCount, fetchStatus } = state;
  if (!(error instanceof ApiError && AWAY.has(error.status))) return false;
  const pauseMs = PAUSE_MS * 2 ** Math.min(errorUpdateCount - 1, DOUBLED_MOST);
  return fetchStatus === "idle" && Date.now() - errorUpdatedAt >= pauseMs;
}

/** Whether another try may help: what was refused is refused again. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500;
}
