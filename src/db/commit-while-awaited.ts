import type { Db } from "./context.ts";

/**
 * The handle for a work that its caller may give up on. A transaction that ends after that is rolled back: the caller
 * was told that nothing happened, and what only the answer would have shown, such as a new secret, is lost.
 *
 * @param signal aborted when the caller has given up; its reason is what the transaction rejects with.
 */
export function commitWhileAwaited(db: Db, signal: AbortSignal): Db {
  const transaction: Db["transaction"] = (work, config) =>
    db.transaction(async (inner) => {
      const result = await work(inner);
      signal.throwIfAborted();
      return result;
    }, config);
  return new Proxy(db, {
    get: (target, name): unknown =>
      name === "transaction" ? transaction : Reflect.get(target, name),
  });
}
