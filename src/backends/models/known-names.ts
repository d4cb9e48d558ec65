import type { Clock } from "../../lib/clock.ts";

/** What a server lists, as it was last heard of. */
export interface KnownNames<Name> {
  /** Empty until the server was heard for the first time. */
  readonly now: () => readonly Name[];
  /** Settled when nothing newer is under way; asks the server when its last word is old. Never throws. */
  readonly settled: () => Promise<void>;
  /** Why the last question brought nothing; undefined when it did. */
  readonly failure: () => unknown;
}

const MAX_AGE_MS = 15_000;
/** A server that did not answer may be up again any moment. */
const MAX_FAILURE_AGE_MS = 1_000;

/** Asks when somebody wants to know and the last answer is old, so that what nobody uses is never asked. */
export function createKnownNames<Name>(
  ask: () => Promise<readonly Name[]>,
  clock: Clock,
): KnownNames<Name> {
  let names: readonly Name[] = [];
  let failure: unknown;
  let askedAt: number | undefined;
  let asking = Promise.resolve();

  const refresh = async () => {
    try {
      names = await ask();
      failure = undefined;
    } catch (thrown) {
      // What it had is kept: it may be back in a moment, and a call finds out by itself.
      failure = thrown;
    }
  };
  return {
    now: () => names,
    settled() {
      const now = clock.now();
      const maxAgeMs = failure === undefined ? MAX_AGE_MS : MAX_FAILURE_AGE_MS;
      if (askedAt === undefined || Math.abs(now - askedAt) >= maxAgeMs) {
        askedAt = now;
        asking = refresh();
      }
      return asking;
    },
    failure: () => failure,
  };
}
