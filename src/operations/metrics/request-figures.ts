import { CHANNELS } from "../../core/channel.ts";
import { byLabel, eachWith, type Metric } from "../../core/metric.ts";
import { zeroCounts } from "../../lib/zero-counts.ts";

/**
 * The purpose of a request, from its route: a channel; `v1`: anything else of the gateway; `api`: the console and
 * administration; `probe`: health, readiness and metrics.
 */
const KINDS = [...CHANNELS, "v1", "api", "probe", "other"] as const;
export type RequestKind = (typeof KINDS)[number];

/** The class of the answer; `aborted`: the client left before the answer. */
const STATUS_CLASSES = ["2xx", "3xx", "4xx", "5xx", "aborted"] as const;
type StatusClass = (typeof STATUS_CLASSES)[number];

/** The HTTP requests that this process has answered, by kind and class. */
export interface RequestFigures {
  readonly metrics: readonly Metric[];
  readonly kinds: Readonly<Record<RequestKind, Record<StatusClass, number>>>;
  /** Counts an answer when its headers are made, including one whose stream then runs for a long time. */
  readonly count: (kind: RequestKind, status: number, hasLeft: boolean) => void;
}

export function createRequestFigures(): RequestFigures {
  const entries = KINDS.map((kind) => [kind, zeroCounts(STATUS_CLASSES)] as const);
  const kinds = Object.fromEntries(entries) as Record<RequestKind, Record<StatusClass, number>>;
  return {
    kinds,
    count(kind, status, hasLeft) {
      kinds[kind][hasLeft ? "aborted" : classOf(status)] += 1;
    },
    metrics: [
      {
        name: "svc_http_requests_total",
        type: "counter",
        help: "HTTP requests answered, by channel or other kind; aborted: the client left before there was an answer.",
        labels: ["kind", "status_class"],
        read: () => eachWith("kind", kinds, (classes) => byLabel("status_class", classes)),
      },
    ],
  };
}

function classOf(status: number): StatusClass {
  if (status < 300) return "2xx";
  if (status < 400) return "3xx";
  return status < 500 ? "4xx" : "5xx";
}
