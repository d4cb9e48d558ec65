import type { Settings } from "../../config/settings.ts";
import type { HttpClient } from "../../lib/http/http-client.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { REPLICA_CHECKS } from "../replicas/replica-checks.ts";
import { createReplicaClient, type ReplicaClient } from "../replicas/replica-client.ts";
import type { Upstream } from "./upstream.ts";
import type { UpstreamBook } from "./upstream-figures.ts";

export interface LocalOptions {
  readonly settings: Settings;
  readonly client: HttpClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly book?: UpstreamBook | undefined;
}

const DEFAULT_ADDRESSES = { vllm: "http://127.0.0.1:8000", ollama: "http://127.0.0.1:11434" };

/** Builds the upstream of the local engine, or of its replicas where several addresses are set. */
export function localUpstream(options: LocalOptions): Upstream {
  const { settings, client, clock } = options;
  const key = settings.LLM_API_KEY;
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const [address, ...further] = engineAddresses(settings);
  const count = 1 + further.length;
  return {
    address,
    addressSetting: "LLM_BASE_URL",
    headers,
    secrets: key === undefined ? [] : [key],
    client,
    replicas: createReplicas([address, ...further], headers, options),
    joinsTraces: true,
    clock,
    limits: {
      timeoutMs: settings.LLM_REQUEST_TIMEOUT * 1000,
      idleTimeoutMs: settings.STREAM_IDLE_TIMEOUT_MS,
      // One try already goes to each replica once, so it contains several tries.
      retries: Math.max(0, Math.floor((1 + settings.GATEWAY_RETRIES) / count) - 1),
      maxEventBytes: settings.MAX_SSE_EVENT_BYTES,
    },
    figures: options.book?.open(settings.LLM_BACKEND, address),
  };
}

/** Returns the addresses of the local engine, or of each of its replicas. */
export function engineAddresses({
  LLM_BASE_URL = [],
  LLM_BACKEND,
}: Pick<Settings, "LLM_BASE_URL" | "LLM_BACKEND">): [string, ...string[]] {
  // Many programs expect the address with this suffix, so users often include it.
  const named = new Set(LLM_BASE_URL.map((address) => address.replace(/\/v1$/, "")));
  const [address = DEFAULT_ADDRESSES[LLM_BACKEND], ...further] = named;
  return [address, ...further];
}

function createReplicas(
  [address, second, ...further]: readonly [string, ...string[]],
  headers: Readonly<Record<string, string>>,
  { settings, client, log }: LocalOptions,
): ReplicaClient | undefined {
  if (second === undefined) return undefined;
  const addresses = [address, second, ...further] as const;
  return createReplicaClient({
    addresses,
    client,
    headers,
    check: REPLICA_CHECKS[settings.LLM_BACKEND],
    log,
  });
}
