import { takeTurns } from "../concurrency.ts";
import type { ResolveHost } from "./egress-target.ts";

/** A lookup that takes longer lets the next one begin. */
const SLOW_MS = 1_000;
/** Slow lookups that others need not wait for. */
const SLOW_MOST = 2;

/**
 * Looks up user-supplied names, one after another. The runtime resolves only four at a time, and calls to models share
 * these places: slow names take two of them at most, and hold up no others while they are fewer. Everybody who asks for
 * a name that is being looked up shares the answer. A lookup whose asker has left before its turn is not begun.
 */
export function createLookups(
  resolve: ResolveHost,
): (hostname: string, signal: AbortSignal) => Promise<readonly string[]> {
  const underWay = new Map<string, Promise<readonly string[]>>();
  const slow = new Set<Promise<unknown>>();
  const inTurn = takeTurns();

  const begin = (hostname: string): Promise<readonly string[]> => {
    const lookup = resolve(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, lookup);
    return lookup;
  };
  /** Resolves when the next lookup may begin. */
  const untilNext = async (lookup: Promise<unknown>): Promise<void> => {
    const ended = lookup.then(
      () => undefined,
      () => undefined,
    );
    if (await isEndedWithin(ended, SLOW_MS)) return;
    slow.add(ended);
    void ended.then(() => slow.delete(ended));
    if (slow.size > SLOW_MOST) await Promise.race(slow);
  };

  return (hostname, signal) =>
    new Promise((answer) => {
      void inTurn(async () => {
        if (signal.aborted) {
          answer(Promise.reject(signal.reason));
          return;
        }
        const known = underWay.get(hostname);
        const lookup = known ?? begin(hostname);
        answer(lookup);
        if (known === undefined) await untilNext(lookup);
      });
    });
}

function isEndedWithin(ended: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    void ended.then(() => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
