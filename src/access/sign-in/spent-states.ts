import type { Clock } from "../../lib/time/clock.ts";

/** The sign-ins of ten minutes; beyond it, the oldest are forgotten. */
const KEPT_MAX = 20_000;

/**
 * Creates the memory of the states with which browsers came back. It returns false for a state that came before, so that
 * one sign-in asks the provider once. The provider redeems a code only once too, at whichever replica.
 */
export function createSpentStates(
  clock: Clock,
): (begun: { readonly state: string; readonly expiresAt: number }) => boolean {
  /** By age: all are kept equally long. */
  const spent = new Map<string, number>();
  return ({ state, expiresAt }) => {
    for (const [oldest, keptUntil] of spent) {
      if (keptUntil > clock.now() && spent.size < KEPT_MAX) break;
      spent.delete(oldest);
    }
    if (spent.has(state)) return false;
    spent.set(state, expiresAt);
    return true;
  };
}
