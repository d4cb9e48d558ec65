import type { Upstream } from "./upstream.ts";
import type { UpstreamFigures } from "./upstream-figures.ts";

/** A server that the settings name for one purpose. */
export interface DedicatedServer {
  readonly address: string | undefined;
  readonly addressSetting: string;
  readonly apiKey: string | undefined;
  /** Further tries of a call that was refused before its first byte. */
  readonly retries: number;
  /** Where its calls are counted. */
  readonly openFigures?: () => UpstreamFigures;
}

/**
 * That server; undefined when the settings name none. It has the local engine's time limits, and never its
 * key: that one goes to the local engine alone.
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
    figures: openFigures?.(),
  };
}

/** A server of the OpenAI format with the version in its address, which may be given with or without it. */
export function withVersion(upstream: Upstream): Upstream {
  const { address } = upstream;
  return /\/v\d+(beta)?$/.test(address) ? upstream : { ...upstream, address: `${address}/v1` };
}
