import type { Upstream } from "./upstream.ts";
import type { UpstreamFigures } from "./upstream-figures.ts";

/** A server that is configured for one purpose. */
export interface DedicatedServer {
  readonly address: string | undefined;
  readonly addressSetting: string;
  readonly apiKey: string | undefined;
  /** Retries of a call that was refused before its first byte. */
  readonly retries: number;
  /** Opens the counters of its calls. */
  readonly openFigures?: (address: string) => UpstreamFigures;
}

/**
 * Builds that server's upstream; undefined when none is configured. It has the local engine's time limits but never its
 * key, which is sent only to the local engine.
 */
export function dedicatedUpstream(
  { address, addressSetting, apiKey, retries, openFigures }: DedicatedServer,
  local: Upstream,
): Upstream | undefined {
  if (address === undefined) return undefined;
  return {
    ...local,
    replicas: undefined,
    limits: { ...local.limits, retries },
    address,
    addressSetting,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    secrets: apiKey === undefined ? [] : [apiKey],
    figures: openFigures?.(address),
  };
}

/** Adds the version to the address of a server of the OpenAI format, unless the address already has one. */
export function withVersion(upstream: Upstream): Upstream {
  const { address } = upstream;
  return /\/v\d+(beta)?$/.test(address) ? upstream : { ...upstream, address: `${address}/v1` };
}
