import type { Registry } from "../backends/registry.ts";
import { callTimeoutMs } from "../config/call-timeout.ts";
import { byLabel, eachWith, histogramSamples, type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import type { Base } from "../db/base.ts";
import type { Limits } from "../limits/limits.ts";
import type { LimitRefusals } from "../usage/sums/limit-refusals.ts";
import type { UsageJournal } from "../usage/usage-record.ts";
import { type AnswerGateway, openAnswerMemory } from "./answer-memory.ts";
import type { AssistantServices } from "./assistant/assistant-services.ts";
import type { ToolGateway } from "./call-tool.ts";
import type { EmbeddingGateway } from "./embed.ts";
import { createFailureLog } from "./failure-log.ts";
import type { Gateway } from "./gateway.ts";
import { type ChannelFigures, createCallFigures } from "./meter/call-figures.ts";
import { type GatedCalls, openGatedCalls } from "./overload/call-gate.ts";
import type { TranscriptionGateway } from "./transcribe.ts";

export interface GatewayParts {
  readonly backends: Registry;
  readonly limits: Limits;
  readonly journal: UsageJournal;
  readonly refusals: Pick<LimitRefusals, "count">;
  readonly assistants: AssistantServices;
}

export interface OpenGateway extends GatedCalls, Part {
  readonly gateway: Gateway & EmbeddingGateway & TranscriptionGateway & AnswerGateway & ToolGateway;
}

/** Assembles the pipeline, with the calls in progress and the gate before them. */
export function openGateway(
  { settings, clock, log }: Base,
  { backends, limits, journal, refusals, assistants }: GatewayParts,
): OpenGateway {
  const calls = openGatedCalls({ settings, log, timeoutMs: callTimeoutMs(settings) });
  const figures = createCallFigures();
  return {
    ...calls,
    gateway: {
      models: backends.models,
      embeddings: backends.embeddings,
      speech: backends.speech,
      answers: openAnswerMemory(settings, clock),
      assistants,
      journal,
      limits,
      refusals,
      figures,
      clock,
      failures: createFailureLog(log, clock),
      defaultMaxOutputTokens: settings.DEFAULT_MAX_OUTPUT_TOKENS,
      fallbacks: settings.MODEL_FALLBACKS,
    },
    metrics: [...callMetrics(figures.channels), ...openCallMetrics(calls)],
    async close() {
      calls.callGate.close();
    },
  };
}

function callMetrics(channels: Readonly<Record<string, ChannelFigures>>): readonly Metric[] {
  return [
    {
      name: "svc_gateway_calls_total",
      type: "counter",
      help: "Metered calls that have ended, by channel and outcome as their usage row has it.",
      labels: ["channel", "outcome"],
      read: () => eachWith("channel", channels, ({ outcomes }) => byLabel("outcome", outcomes)),
    },
    {
      name: "svc_gateway_input_tokens_total",
      type: "counter",
      help: "Input tokens of metered calls that have ended.",
      labels: ["channel"],
      read: () => eachWith("channel", channels, ({ inputTokens }) => single(inputTokens)),
    },
    {
      name: "svc_gateway_output_tokens_total",
      type: "counter",
      help: "Output tokens of metered calls that have ended.",
      labels: ["channel"],
      read: () => eachWith("channel", channels, ({ outputTokens }) => single(outputTokens)),
    },
    {
      name: "svc_gateway_call_duration_seconds",
      type: "histogram",
      help: "How long metered calls took, from their arrival to their end.",
      labels: ["channel"],
      read: () => eachWith("channel", channels, ({ duration }) => histogramSamples(duration)),
    },
    {
      name: "svc_gateway_first_token_seconds",
      type: "histogram",
      help: "Time from the arrival of metered calls to the first event of their answer.",
      labels: ["channel"],
      read: () => eachWith("channel", channels, ({ firstToken }) => histogramSamples(firstToken)),
    },
  ];
}

function openCallMetrics({ openCalls, callGate }: GatedCalls): readonly Metric[] {
  return [
    {
      name: "svc_gateway_open_calls",
      type: "gauge",
      help: "Calls in progress.",
      labels: [],
      read: () => single(openCalls.count()),
    },
    {
      name: "svc_gateway_waiting_calls",
      type: "gauge",
      help: "Calls that wait for others to begin before them.",
      labels: [],
      read: () => single(callGate.waiting()),
    },
    {
      name: "svc_gateway_open_streams",
      type: "gauge",
      help: "Calls in progress whose answer is streamed.",
      labels: [],
      read: () => single(openCalls.streams()),
    },
  ];
}
