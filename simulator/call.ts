import type { Exchange } from "./http/exchange.ts";
import type { Json } from "./json.ts";
import type { LedgerEntry } from "./ledger.ts";
import type { SimulatorOptions } from "./options.ts";
import type { PrefixCache } from "./prefix-cache.ts";
import type { Script } from "./script.ts";

/** One request that an engine handles. */
export interface Call {
  readonly exchange: Exchange;
  readonly entry: LedgerEntry;
  /** The JSON body; empty when there is none. */
  readonly body: Json;
  readonly script: Script | undefined;
  readonly options: SimulatorOptions;
  readonly prefixCache: PrefixCache;
  /** Headers of every answer of the vendor. */
  readonly headers: Readonly<Record<string, string>>;
}

export type Handler = (call: Call) => Promise<void>;

export function sendJson(
  { exchange, headers }: Call,
  status: number,
  value: unknown,
): Promise<void> {
  const type = { "content-type": "application/json" };
  return exchange.send(status, JSON.stringify(value), { ...type, ...headers });
}
