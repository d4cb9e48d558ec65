import { setTimeout as sleep } from "node:timers/promises";
import { takeTurns } from "../../lib/concurrency.ts";

/** After a step the loop belongs to others for as long as the step took, and never for longer than this. */
const PAUSE_MAX_MS = 100;

const inTurn = takeTurns();

/**
 * Runs what a large body needs of the event loop, one body at a time. `pause` ends a step. After the last one the next
 * body waits as well: what is done with this one, its check and the request to the engine, takes as long as its steps.
 */
export function inLargeTurn<Result>(
  work: (pause: () => Promise<void>) => Promise<Result>,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    void inTurn(async () => {
      let since = performance.now();
      const pause = async () => {
        await sleep(Math.min(PAUSE_MAX_MS, performance.now() - since));
        since = performance.now();
      };
      await work(pause).then(resolve, reject);
      // Whoever asked for the body works on it now, and that is a step too.
      await sleep(0);
      await pause();
    });
  });
}
