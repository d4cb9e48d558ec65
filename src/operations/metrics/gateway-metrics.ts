import type { ChannelFigures } from "../../gateway/call-figures.ts";
import { byLabel, eachWith, histogramSamples, type Metric, type Sample, single } from "./metric.ts";
import type { Snapshot } from "./snapshot.ts";

/** Calls: the last 24 hours as the database has them, and what this process has counted since its start. */
export const GATEWAY_METRICS: readonly Metric[] = [
  {
    name: "svc_gateway_requests_24h",
    type: "gauge",
    help: "Gateway requests in the last 24 hours, of all replicas, those refused by a limit of their key among them.",
    labels: ["channel"],
    read: ({ stored }) => byLabel("channel", stored?.day.requests),
  },
  {
    name: "svc_gateway_errors_24h",
    type: "gauge",
    help: "Gateway requests in the last 24 hours that ended with an error.",
    labels: ["channel"],
    read: ({ stored }) => byLabel("channel", stored?.day.errors),
  },
  {
    name: "svc_gateway_rate_limited_24h",
    type: "gauge",
    help: "Gateway requests in the last 24 hours answered with 429, by a limit of their key or by the upstream.",
    labels: ["channel"],
    read: ({ stored }) => byLabel("channel", stored?.day.rateLimited),
  },
  {
    name: "svc_gateway_input_tokens_24h",
    type: "gauge",
    help: "Input tokens of the last 24 hours.",
    labels: ["channel"],
    read: ({ stored }) => byLabel("channel", stored?.day.inputTokens),
  },
  {
    name: "svc_gateway_output_tokens_24h",
    type: "gauge",
    help: "Output tokens of the last 24 hours.",
    labels: ["channel"],
    read: ({ stored }) => byLabel("channel", stored?.day.outputTokens),
  },
  {
    name: "svc_gateway_latency_ms_24h",
    type: "summary",
    help: "Milliseconds that metered requests of the last 24 hours took, over all replicas; 0 when there was none.",
    labels: ["quantile"],
    read: readLatency,
  },
  {
    name: "svc_http_requests_total",
    type: "counter",
    help: "HTTP requests answered, by channel or other kind; aborted: the client left before there was an answer.",
    labels: ["kind", "status_class"],
    read: ({ requests }) =>
      eachWith("kind", requests.kinds, (classes) => byLabel("status_class", classes)),
  },
  {
    name: "svc_gateway_calls_total",
    type: "counter",
    help: "Metered calls that have ended, by channel and outcome as their usage row has it.",
    labels: ["channel", "outcome"],
    read: ({ calls }) =>
      eachWith("channel", calls.channels, ({ outcomes }) => byLabel("outcome", outcomes)),
  },
  {
    name: "svc_gateway_input_tokens_total",
    type: "counter",
    help: "Input tokens of metered calls that have ended.",
    labels: ["channel"],
    read: (snapshot) => ofChannels(snapshot, ({ inputTokens }) => single(inputTokens)),
  },
  {
    name: "svc_gateway_output_tokens_total",
    type: "counter",
    help: "Output tokens of metered calls that have ended.",
    labels: ["channel"],
    read: (snapshot) => ofChannels(snapshot, ({ outputTokens }) => single(outputTokens)),
  },
  {
    name: "svc_gateway_call_duration_seconds",
    type: "histogram",
    help: "How long metered calls took, from their arrival to their end.",
    labels: ["channel"],
    read: (snapshot) => ofChannels(snapshot, ({ duration }) => histogramSamples(duration)),
  },
  {
    name: "svc_gateway_first_token_seconds",
    type: "histogram",
    help: "Time from the arrival of metered calls to the first event of their answer.",
    labels: ["channel"],
    read: (snapshot) => ofChannels(snapshot, ({ firstToken }) => histogramSamples(firstToken)),
  },
  {
    name: "svc_gateway_open_calls",
    type: "gauge",
    help: "Calls under way.",
    labels: [],
    read: ({ openCalls }) => single(openCalls.count()),
  },
  {
    name: "svc_gateway_open_streams",
    type: "gauge",
    help: "Calls under way whose answer is streamed.",
    labels: [],
    read: ({ openCalls }) => single(openCalls.streams()),
  },
  {
    name: "svc_limit_refusals_total",
    type: "counter",
    help: "Calls refused for a limit of their key, by the code that names it.",
    labels: ["code"],
    read: ({ refusals }) => byLabel("code", refusals.codes),
  },
  {
    name: "svc_limit_reservations_open",
    type: "gauge",
    help: "Calls of this process that hold a reservation on the limits of their key.",
    labels: [],
    read: ({ limits }) => single(limits.openReservations()),
  },
  {
    name: "svc_limits_available",
    type: "gauge",
    help: "1 while the limits of keys can be checked; while 0, calls of keys that have any are refused.",
    labels: [],
    read: ({ limits }) => single(limits.isAvailable()),
  },
];

function readLatency({ stored }: Snapshot): readonly Sample[] {
  if (stored === undefined) return [];
  const { quantiles, sumMs, count } = stored.latency;
  return [
    ...byLabel("quantile", quantiles),
    { suffix: "_sum", labels: {}, value: sumMs },
    { suffix: "_count", labels: {}, value: count },
  ];
}

function ofChannels(
  { calls }: Snapshot,
  samplesOf: (channel: ChannelFigures) => readonly Sample[],
): readonly Sample[] {
  return eachWith("channel", calls.channels, samplesOf);
}
