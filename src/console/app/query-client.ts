import { MutationCache, type Query, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/errors.ts";

const MAX_TRIES = 2;
/** No answer, or that of a gateway which starts, of its database that is away, or of a proxy before it. */
const AWAY: ReadonlySet<number> = new Set([0, 502, 503, 504]);
/** What goes on failing while other calls are answered is not asked for with each of them. */
const PAUSE_MS = 5_000;

/** Returns the store of what was fetched. What failed while the gateway was away is fetched again once any call succeeds. */
export function createQueryClient(): QueryClient {
  const onSuccess = () => void client.refetchQueries({ type: "active", predicate: isLost });
  const client = new QueryClient({
    queryCache: new QueryCache({ onSuccess }),
    mutationCache: new MutationCache({ onSuccess }),
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        retry: (count, error) => count < MAX_TRIES && isPassing(error),
      },
    },
  });
  return client;
}

function isLost({ state: { error, errorUpdatedAt, fetchStatus } }: Query): boolean {
  if (!(error instanceof ApiError && AWAY.has(error.status))) return false;
  return fetchStatus === "idle" && Date.now() - errorUpdatedAt >= PAUSE_MS;
}

/** Whether another try may help: what was refused is refused again. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500;
}
