import type { Clock } from "../../lib/clock.ts";
import type { HttpClient } from "../../lib/http/http-client.ts";
import type { ReplicaClient } from "../replicas/replica-client.ts";
import type { UpstreamFigures } from "./upstream-figures.ts";

/** A server of models as we call it. */
export interface Upstream {
  /** Without a slash at the end. */
  readonly address: string;
  /** The credential, as headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** What no client and no log may see: the key. The address is kept out without being named here. */
  readonly secrets: readonly string[];
  /** The setting that holds the address, for the operator to look at. */
  readonly addressSetting: string;
  readonly client: HttpClient;
  /** Stands in for `client` where several servers of the same models share the work; `address` is the first one's. */
  readonly replicas?: ReplicaClient | undefined;
  /** It is the operator's own: its spans are to join the trace. A vendor learns nothing of how calls hang together. */
  readonly joinsTraces?: true | undefined;
  readonly clock: Clock;
  readonly limits: UpstreamLimits;
  /** Where its calls are counted. */
  readonly figures?: UpstreamFigures | undefined;
}

export interface UpstreamLimits {
  /** How long one call may take, its retries included. */
  readonly timeoutMs: number;
  /** Silence that ends a stream. */
  readonly idleTimeoutMs: number;
  /** Further tries of a call that was refused before its first byte. */
  readonly retries: number;
  /** Largest single event of a stream. */
  readonly maxEventBytes: number;
}
