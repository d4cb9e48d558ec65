import type { Engine } from "./engine.ts";
import type { Ledger } from "./ledger.ts";
import type { SimulatorOptions } from "./options.ts";
import type { PrefixCache } from "./prefix-cache.ts";
import type { ScriptQueue } from "./script.ts";

/** The state shared by all requests of one simulator. */
export interface World {
  readonly options: SimulatorOptions;
  readonly ledger: Ledger;
  readonly scripts: ScriptQueue;
  /** The cache of the prompts of all requests. */
  readonly prefixCache: PrefixCache;
  readonly engine: Engine;
  openSockets: () => number;
}
