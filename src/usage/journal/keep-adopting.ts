import { setTimeout as sleep } from "node:timers/promises";
import type { Log } from "../../lib/log.ts";
import { type Adoption, adoptJournals, type LeftJournals } from "./adopt-journals.ts";

/** A little more than the silence after which the owner of a lock in another container counts as gone. */
const INTERVAL_MS = 20_000;
/** Calls wait for a start whose database went away. */
const CATCH_UP_INTERVAL_MS = 1_000;

/** So long a start waits for a lone gateway's predecessor that may have been killed in another container. */
const OWNER_WAIT_MS = 20_000;
const NOTHING_LEFT: LeftJournals = { forDatabase: false, forOwner: false };

export interface Adopting {
  /** Settles when the first round is over. Never rejects. */
  readonly first: Promise<void>;
  /**
   * Settles when a round has found the database there, so that all it could adopt is counted, and for one that is alone
   * when no journal has another owner, or that has outlived the wait. Never rejects.
   */
  readonly caughtUp: Promise<void>;
  /** Begins no further round; resolves when the running one is over. */
  readonly stop: () => Promise<void>;
}

/**
 * Adopts journals now and every twenty seconds, one round at a time.
 *
 * @param isAlone no other replica is to be expected on the database.
 */
export function keepAdopting(adoption: Adoption, isAlone: boolean): Adopting {
  let running: Promise<LeftJournals> | undefined;
  const round = (): Promise<LeftJournals> => {
    running ??= adoptJournals(adoption)
      .catch((thrown: unknown) => report(adoption.log, thrown))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const timer = setInterval(() => void round(), INTERVAL_MS);
  timer.unref();
  const stopped = new AbortController();
  const first = round();
  return {
    first: first.then(() => undefined),
    caughtUp: catchUp(round, isAlone, stopped.signal),
    async stop() {
      stopped.abort();
      clearInterval(timer);
      await running;
    },
  };
}

/** Begins rounds until nothing is left that a start waits for. */
async function catchUp(
  round: () => Promise<LeftJournals>,
  isAlone: boolean,
  stopped: AbortSignal,
): Promise<void> {
  const ownersUntil = isAlone ? performance.now() + OWNER_WAIT_MS : -Infinity;
  while (!stopped.aborted) {
    const { forDatabase, forOwner } = await round();
    if (!forDatabase && !(forOwner && performance.now() < ownersUntil)) return;
    await sleep(CATCH_UP_INTERVAL_MS, undefined, { ref: false });
  }
}

/** Says that nothing waits for the database: it is the folder that is at fault. */
function report(log: Log, thrown: unknown): LeftJournals {
  log.warn({ err: thrown }, "the folder of the usage journals could not be read");
  return NOTHING_LEFT;
}
