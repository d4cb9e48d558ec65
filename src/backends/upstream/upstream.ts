import type { HttpClient } from "../../lib/http/http-client.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { ReplicaClient } from "../replicas/replica-client.ts";
import type { UpstreamFigures } from "./upstream-figures.ts";

/** A model server and how to call it. */
export interface Upstream {
  /** Without a trailing slash. */
  readonly address: string;
  /** The credential, as headers. */
  readonly headers: Readonly<Record<string, string>>;
  /** The key, which no client and no log may see. The address is redacted too without being listed here. */
  readonly secrets: readonly string[];
  /** The setting that contains the address, for messages to the operator. */
  readonly addressSetting: string;
  readonly client: HttpClient;
  /** Replaces `client` where several servers of the same models share the work; `address` is the first one's. */
  readonly replicas?: ReplicaClient | undefined;
  /** The operator's own server, whose spans join the trace. A vendor must not learn how calls are related. */
  readonly joinsTraces?: true | undefined;
  readonly clock: Clock;
  readonly limits: UpstreamLimits;
  /** The counters of its calls. */
  readonly figures?: UpstreamFigures | undefined;
}

export interface UpstreamLimits {
  /** The time limit of one call, retries included. */
  readonly timeoutMs: number;
  /** Silence that ends a stream. */
  readonly idleTimeoutMs: number;
  /** Retries of a call that was refused before its first byte. */
  readonly retries: number;
  /** The largest single event of a stream. */
  readonly maxEventBytes: number;
}
