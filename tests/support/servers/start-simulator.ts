import type { LedgerEntry } from "../../../simulator/ledger.ts";
import type { SimulatorOptions } from "../../../simulator/options.ts";
import {
  type Simulator,
  startSimulator as startAnySimulator,
} from "../../../simulator/simulator.ts";

const POLL_MS = 5;

export interface TestSimulator extends Simulator {
  /** The first entry for which the condition holds, as soon as there is one. */
  readonly awaitEntry: (
    condition: (entry: LedgerEntry) => boolean,
    timeoutMs?: number,
  ) => Promise<LedgerEntry>;
}

/** The engine simulator in this process, on a free port, answering at once unless told otherwise. */
export async function startSimulator(
  options: Partial<SimulatorOptions> = {},
): Promise<TestSimulator> {
  const simulator = await startAnySimulator(options);
  const awaitEntry = async (condition: (entry: LedgerEntry) => boolean, timeoutMs = 60_000) => {
    const until = Date.now() + timeoutMs;
    while (Date.now() < until) {
      const found = simulator.ledger().find(condition);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
    throw new Error(`no such entry in the ledger after ${timeoutMs} ms`);
  };
  return { ...simulator, awaitEntry };
}
