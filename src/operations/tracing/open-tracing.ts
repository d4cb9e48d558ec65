import type { Settings } from "../../config/settings.ts";
import { StartRefusal } from "../../lib/folders/start-refusal.ts";
import type { Log } from "../../lib/log.ts";
import type { Tracing } from "./tracing.ts";

export type TracingSettings = Pick<
  Settings,
  "OTEL_EXPORTER_OTLP_ENDPOINT" | "OTEL_EXPORTER_OTLP_HEADERS" | "OTEL_SERVICE_NAME"
>;

const PATH = "/v1/traces";
const PAIR = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=(.*)$/;

/**
 * Opens the export to the collector; undefined without a configured one. Its library is loaded only then. Throws a
 * `StartRefusal`.
 */
export async function openTracing(
  settings: TracingSettings,
  { log, version }: { readonly log: Log; readonly version: string },
): Promise<Tracing | undefined> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: name } = settings;
  if (endpoint === undefined) return undefined;
  const headers = readHeaders(settings.OTEL_EXPORTER_OTLP_HEADERS);
  const { createTracing } = await import("./create-tracing.ts");
  const url = endpoint.endsWith(PATH) ? endpoint : endpoint + PATH;
  return createTracing({ url, headers, service: { name, version }, log });
}

/**
 * Parses `name=value` in a comma-separated list, the values percent-encoded where needed, as OpenTelemetry defines it.
 */
function readHeaders(list = ""): Readonly<Record<string, string>> {
  const pairs = list.split(",").filter((pair) => pair.trim() !== "");
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, name, value] = PAIR.exec(pair.trim()) ?? [];
      const decoded = value === undefined ? undefined : decode(value.trim());
      if (name === undefined || decoded === undefined) {
        throw new StartRefusal("OTEL_EXPORTER_OTLP_HEADERS: write name=value,name=value.");
      }
      return [name.toLowerCase(), decoded];
    }),
  );
}

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
