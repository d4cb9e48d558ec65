import { setTimeout as sleep } from "node:timers/promises";
import { takeTurns } from "../../lib/concurrency.ts";

/** After a step the event loop serves others for as long as the step took, but never longer than this. */
const PAUSE_MAX_MS = 100;

const inTurn = takeTurns();

/**
 * Runs the CPU work of large bodies, one body at a time. `pause` ends a step. The next body also waits after the last
 * step, because the check of this body and its request to the engine take as long as the steps.
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
      // The caller continues with the body now, which is a step too.
      await sleep(0);
      await pause();
    });
  });
}
