import type { Log } from "../../lib/log.ts";
import { type Adoption, adoptJournals } from "./adopt-journals.ts";

/** A little more than the silence after which the owner of a lock in another container counts as gone. */
const INTERVAL_MS = 20_000;

export interface Adopting {
  /** Settles when the first round is over. Never rejects. */
  readonly first: Promise<void>;
  /** Begins no further round; resolves when the running one is over. */
  readonly stop: () => Promise<void>;
}

/** Adopts journals now and every twenty seconds, one round at a time. */
export function keepAdopting(adoption: Adoption): Adopting {
  let running: Promise<void> | undefined;
  const round = (): Promise<void> => {
    running ??= adoptJournals(adoption)
      .catch((thrown: unknown) => report(adoption.log, thrown))
      .finally(() => {
        running = undefined;
      });
    return running;
  };
  const timer = setInterval(() => void round(), INTERVAL_MS);
  timer.unref();
  return {
    first: round(),
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

function report(log: Log, thrown: unknown): void {
  log.warn({ err: thrown }, "the folder of the usage journals could not be read");
}
