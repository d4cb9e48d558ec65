import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Log } from "../../lib/log.ts";
import { within } from "../../lib/time/within.ts";
import { sayFailures } from "./say-failures.ts";
import type { Arrival, RequestTrace, TracedRequest, Tracing } from "./tracing.ts";
import { usageAttributes, usageSpanName } from "./usage-attributes.ts";

/** Maximum of spans that wait for the collector; further ones are dropped, so that no call waits. */
const WAITING_MAX = 8_192;
const BATCH_SPANS = 512;
const SEND_EVERY_MS = 2_000;
const SEND_TIMEOUT_MS = 10_000;
const LAST_WORDS_MS = 2_000;

export interface TracingOptions {
  /** The URL that spans are posted to. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly service: { readonly name: string; readonly version: string };
  readonly log: Log;
}

/**
 * Creates the tracing of requests: a server span, which joins the client's trace when it sends a `traceparent`, and
 * within it a span of the call to a model. The client's `traceparent` decides whether a request is recorded; without
 * one every request is.
 */
export function createTracing({ url, headers, service, log }: TracingOptions): Tracing {
  const exporter = sayFailures(
    new OTLPTraceExporter({ url, headers: { ...headers }, timeoutMillis: SEND_TIMEOUT_MS }),
    log,
  );
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: WAITING_MAX,
    maxExportBatchSize: BATCH_SPANS,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: SEND_TIMEOUT_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": service.name,
      "service.version": service.version,
    }),
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [processor],
  });
  const tracer = provider.getTracer(service.name, service.version);
  const propagator = new W3CTraceContextPropagator();

  const begin = ({ method, headers: arrived, requestId, arrivedAt }: Arrival): RequestTrace => {
    const parent = propagator.extract(ROOT_CONTEXT, arrived, HEADERS);
    const attributes = { "http.request.method": method, "gateway.request.id": requestId };
    const server = tracer.startSpan(
      method,
      { kind: SpanKind.SERVER, startTime: arrivedAt, attributes },
      parent,
    );
    const inServer = trace.setSpan(parent, server);
    // Started here because the engine receives its id; it ends unnamed and unrecorded when no model was called.
    const model = tracer.startSpan(
      "chat",
      { kind: SpanKind.CLIENT, startTime: arrivedAt },
      inServer,
    );
    return {
      call: toCall(trace.setSpan(inServer, model)),
      end(finished: TracedRequest) {
        const { route, status, endedAt, usage } = finished;
        if (usage !== undefined) {
          model.updateName(usageSpanName(usage));
          model.setAttributes(usageAttributes(usage, finished));
          if (usage.outcome === "error" || usage.outcome === "rate_limited") {
            model.setStatus({ code: SpanStatusCode.ERROR });
          }
          model.end(usage.startedAt + usage.latencyMs);
        }
        if (route !== undefined) {
          server.updateName(`${method} ${route}`);
          server.setAttribute("http.route", route);
        }
        server.setAttribute("http.response.status_code", status);
        if (status >= 500) {
          server.setAttribute("error.type", String(status));
          server.setStatus({ code: SpanStatusCode.ERROR });
        }
        server.end(endedAt);
      },
    };
  };

  const toCall = (context: Context): RequestTrace["call"] => {
    const headers: RequestTrace["call"] = { traceparent: "" };
    propagator.inject(context, headers, CARRIER);
    return headers;
  };

  return {
    begin,
    async close() {
      await within(provider.shutdown(), LAST_WORDS_MS, () => new Error("the time is over")).catch(
        () => undefined,
      );
    },
  };
}

const HEADERS = {
  get: (headers: Headers, name: string) => headers.get(name) ?? undefined,
  keys: (headers: Headers) => [...headers.keys()],
};
const CARRIER = {
  set: (headers: RequestTrace["call"], name: string, value: string) => {
    Object.assign(headers, { [name]: value });
  },
};
