import type { QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * Forgets what was fetched of a thing that is gone. While a view still shows it this waits until the view is left: it
 * would fetch the thing again at once, and be told that there is none.
 */
export function forgetQuery(client: QueryClient, queryKey: QueryKey): void {
  const cache = client.getQueryCache();
  const query = cache.find({ queryKey });
  if (query === undefined) return;
  if (query.getObserversCount() === 0) {
    cache.remove(query);
    return;
  }
  const stop = cache.subscribe((event) => {
    if (event.query !== query || query.getObserversCount() > 0) return;
    stop();
    // Not within the event, whose other listeners still look at it.
    queueMicrotask(() => cache.remove(query));
  });
}
