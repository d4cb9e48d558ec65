import type { Result, Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";

/**
 * Hono's router for every kind of path, which takes a path apart to find its route. What it found for a path that is
 * registered as it stands, without parameters, it keeps: those are nearly all that is asked for.
 */
export class RememberingRouter<Handler> implements Router<Handler> {
  readonly name = "RememberingRouter";
  readonly #routes = new TrieRouter<Handler>();
  /** By method and path; null until it was asked for. There are no more of them than routes. */
  readonly #found = new Map<string, Map<string, Result<Handler> | null>>();

  add(method: string, path: string, handler: Handler): void {
    this.#routes.add(method, path, handler);
    // A route more may change what is found.
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
