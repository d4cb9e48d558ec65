import type { Exchange } from "./http/exchange.ts";
import { parseJson } from "./json.ts";
import { parseScripts } from "./script.ts";
import type { World } from "./world.ts";

type Control = (exchange: Exchange, world: World) => Promise<void>;

/** The control API: the same functions as the in-process API of the simulator. */
export const controlRoutes: Readonly<Record<string, Control>> = {
  "POST /__sim/script": async (exchange, { scripts }) => {
    try {
      scripts.add(parseScripts(parseJson(exchange.request.body.toString("utf8"))));
    } catch (error) {
      return send(exchange, 400, { error: error instanceof Error ? error.message : "bad script" });
    }
    return send(exchange, 200, { waiting: scripts.size });
  },
  "GET /__sim/ledger": (exchange, { ledger }) =>
    send(exchange, 200, { forgotten: ledger.forgotten, entries: ledger.entries }),
  "POST /__sim/reset": (exchange, { ledger, prefixCache, scripts }) => {
    ledger.clear();
    scripts.clear();
    prefixCache.clear();
    return send(exchange, 200, {});
  },
  "GET /__sim/status": (exchange, { ledger, openSockets, scripts }) =>
    send(exchange, 200, {
      openSockets: openSockets(),
      running: ledger.entries.filter(({ end }) => end === undefined).length,
      requests: ledger.entries.length,
      waiting: scripts.size,
    }),
};

function send(exchange: Exchange, status: number, value: unknown): Promise<void> {
  return exchange.send(status, JSON.stringify(value), { "content-type": "application/json" });
}
