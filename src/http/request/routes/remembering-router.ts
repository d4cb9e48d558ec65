import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/**
 * Hono's router for every kind of path, which parses a path to find its route. The results for registered paths without
 * parameters are cached, because nearly all requests have such a path.
 */
export class RememberingRouter<Handler> implements Router<Handler> {
  readonly name = "RememberingRouter";
  readonly #routes = new TrieRouter<Handler>();
  /** The results by method and path; null until the first request. There are never more of them than routes. */
  readonly #found = new Map<string, Map<string, Result<Handler> | null>>();

  add(method: string, path: string, handler: Handler): void {
    this.#routes.add(method, path, handler);
    // A new route may change earlier results.
    for (const paths of this.#found.values())
      for (const known of paths.keys()) paths.set(known, null);
    if (/[:*]/.test(path)) return;
    const paths = this.#found.get(method) ?? new Map<string, Result<Handler> | null>();
    this.#found.set(method, paths.set(path, null));
  }

  match(method: string, path: string): Result<Handler> {
    const paths = this.#found.get(method);
    const known = paths?.get(path);
    if (known != null) return known;
    const result = this.#routes.match(method, path);
    if (known === null) paths?.set(path, result);
    return result;
  }
}
