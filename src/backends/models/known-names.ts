import type { Clock } from "../../lib/time/clock.ts";

/** The most recent list of a server. */
export interface KnownNames<Name> {
  /** Empty until the server has answered for the first time. */
  readonly now: () => readonly Name[];
  /** Resolves when no refresh is in progress; starts one when the list is stale. Never throws. */
  readonly settled: () => Promise<void>;
  /** The error of the last refresh; undefined when it succeeded. */
  readonly failure: () => unknown;
}

const MAX_AGE_MS = 15_000;
/** A server that did not answer may recover at any moment. */
const MAX_FAILURE_AGE_MS = 1_000;

/** Refreshes the list on demand when it is stale, so that a server that is not used is never called. */
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
      // The last list is kept: the server may recover in a moment, and a call finds out by itself.
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
