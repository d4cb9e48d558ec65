import type { Engine } from "./engine.ts";
import type { Ledger } from "./ledger.ts";
import type { SimulatorOptions } from "./options.ts";
import type { PrefixCache } from "./prefix-cache.ts";
import type { ScriptQueue } from "./script.ts";

/** All that the requests of one simulator share. */
export interface World {
  readonly options: SimulatorOptions;
  readonly ledger: Ledger;
  readonly scripts: ScriptQueue;
  /** Of the prompts of all requests. */
  readonly prefixCache: PrefixCache;
  readonly engine: Engine;
  openSockets: () => number;
}
