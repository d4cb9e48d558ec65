import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** The server reads the file about every 25 ms. */
const TAKEN_OVER_MS = 250;

/** The clock of servers under test. */
export interface MovedClock {
  /** Settings for the server. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets by how much the clock is ahead, for servers that run and those that start later. */
  readonly moveTo: (aheadMs: number) => Promise<void>;
  /** What the servers' clock says, in Unix milliseconds. */
  readonly now: () => number;
  readonly remove: () => Promise<void>;
}

export async function createMovedClock(): Promise<MovedClock> {
  const folder = await mkdtemp(join(tmpdir(), "moved-clock-"));
  const file = join(folder, "ahead");
  let aheadMs = 0;
  return {
    environment: { ALLOW_TEST_CLOCK: "1", TEST_CLOCK_FILE: file },
    async moveTo(ms) {
      aheadMs = ms;
      await writeFile(`${file}.draft`, String(ms / 1000));
      await rename(`${file}.draft`, file);
      await sleep(TAKEN_OVER_MS);
    },
    now: () => Date.now() + aheadMs,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
