import { z } from "zod";
import { flag, httpUrl, name } from "./setting-types.ts";

/** Metrics and traces. */
export const monitoringSettings = {
  METRICS_ENABLED: flag.prefault("0").describe("1 serves metrics for a scraper at /metrics."),
  METRICS_TOKEN: z
    .string()
    .min(16, "must have at least 16 characters")
    .optional()
    .describe(
      "Bearer token that /metrics requires, of 16 characters or more; unset allows anyone to read it.",
    ),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl
    .optional()
    .describe("Address of an OpenTelemetry collector (OTLP over HTTP); unset disables tracing."),
  OTEL_EXPORTER_OTLP_HEADERS: name
    .optional()
    .describe("Headers for the collector, as name=value in a comma list."),
  OTEL_SERVICE_NAME: name
    .default("inference-gateway")
    .describe("Name under which traces are shown."),
};
