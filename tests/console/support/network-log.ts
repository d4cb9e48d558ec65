import { readFile } from "node:fs/promises";

/** What a browser did on its network, by its own log (`--log-net-log`). */
export interface NetworkUse {
  /** The hosts of all requests, with how many each had. */
  readonly requests: Readonly<Record<string, number>>;
  /** The names that were looked up. */
  readonly lookups: readonly string[];
  /** The addresses, without ports, that sockets were connected to. */
  readonly addresses: readonly string[];
}

interface NetworkLog {
  readonly constants: { readonly logEventTypes: Readonly<Record<string, number>> };
  readonly events: readonly {
    readonly type: number;
    readonly params?: { readonly url?: string; readonly host?: string; readonly address?: string };
  }[];
}

/**
 * Reads the log of a browser that has ended.
 *
 * @param ownHosts that the browser asks by itself; they are left out.
 */
export async function readNetworkLog(
  file: string,
  ownHosts: readonly string[],
): Promise<NetworkUse> {
  const { constants, events } = JSON.parse(await readFile(file, "utf8")) as NetworkLog;
  const paramsOf = (...names: readonly string[]) => {
    const types = new Set(names.map((name) => constants.logEventTypes[name]));
    if (types.has(undefined)) throw new Error(`the log has no events ${names.join(", ")}`);
    return events.flatMap(({ type, params }) => (types.has(type) && params ? [params] : []));
  };
  const requests: Record<string, number> = {};
  for (const { url = "" } of paramsOf("URL_REQUEST_START_JOB")) {
    if (!/^(https?|wss?):/.test(url)) continue;
    const { hostname } = new URL(url);
    if (ownHosts.includes(hostname)) continue;
    requests[hostname] = (requests[hostname] ?? 0) + 1;
  }
  const lookups = paramsOf("HOST_RESOLVER_MANAGER_JOB").flatMap(({ host }) => host ?? []);
  const sockets = paramsOf("TCP_CONNECT_ATTEMPT", "UDP_CONNECT");
  const addresses = sockets.flatMap(({ address }) => address?.replace(/:\d+$/, "") ?? []);
  return { requests, lookups: [...new Set(lookups)], addresses: [...new Set(addresses)] };
}
