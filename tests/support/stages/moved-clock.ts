import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { timeOfRequestId } from "../../../src/lib/id.ts";
import { callGateway } from "../clients/call-gateway.ts";

/** The server reads the file about every 25 ms. */
const TAKEN_OVER_MS = 250;
const TAKEN_OVER_WITHIN_MS = 60_000;

/** The clock of servers under test. */
export interface MovedClock {
  /** Settings for the server. */
  readonly environment: Readonly<Record<string, string>>;
  /**
   * Sets by how much the clock is ahead, for servers that run and those that start later. Resolves when the clock of
   * each of the `servers` says so; without them, after a time in which it should.
   */
  readonly moveTo: (aheadMs: number, servers?: readonly Server[]) => Promise<void>;
  /** As `moveTo`, but lets the time pass: clocks that nobody can set go on too. */
  readonly passTo: (aheadMs: number, servers: readonly Server[]) => Promise<void>;
  /** What the servers' clock says, in Unix milliseconds. */
  readonly now: () => number;
  readonly remove: () => Promise<void>;
}

interface Server {
  readonly port: number;
}

export async function createMovedClock(): Promise<MovedClock> {
  const folder = await mkdtemp(join(tmpdir(), "moved-clock-"));
  const file = join(folder, "ahead");
  let aheadMs = 0;
  const write = async (ms: number, text: string): Promise<void> => {
    aheadMs = ms;
    await writeFile(`${file}.draft`, text);
    await rename(`${file}.draft`, file);
  };
  return {
    environment: { ALLOW_TEST_CLOCK: "1", TEST_CLOCK_FILE: file },
    async moveTo(ms, servers) {
      await write(ms, String(ms / 1000));
      if (servers === undefined) await sleep(TAKEN_OVER_MS);
      else await Promise.all(servers.map((server) => hasMoved(server, ms)));
    },
    async passTo(ms, servers) {
      await write(ms, `${ms / 1000} elapsed`);
      await Promise.all(servers.map((server) => hasMoved(server, ms)));
    },
    now: () => Date.now() + aheadMs,
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Asks until the time in an answer's request id is ahead by so much. */
async function hasMoved({ port }: Server, aheadMs: number): Promise<void> {
  const until = performance.now() + TAKEN_OVER_WITHIN_MS;
  for (;;) {
    const askedAt = Date.now();
    const answer = await callGateway(port, { method: "GET", path: "/api/health" });
    const answeredAt = Date.now();
    const time = timeOfRequestId(answer.header("x-request-id") ?? "") ?? 0;
    // A millisecond either way is lost in rounding.
    if (time >= askedAt + aheadMs - 1 && time <= answeredAt + aheadMs + 1) return;
    if (performance.now() > until) throw new Error("the server's clock was not moved");
    await sleep(5);
  }
}
