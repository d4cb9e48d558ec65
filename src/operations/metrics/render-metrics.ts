import type { Metric, Sample } from "../../core/metric.ts";

/** The content type of `renderMetrics`' text. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Renders the metrics in the text format of Prometheus, version 0.0.4, in their order. */
export function renderMetrics(metrics: readonly Metric[]): string {
  return metrics.map((metric) => renderMetric(metric, metric.read())).join("");
}

function renderMetric({ name, type, help }: Metric, samples: readonly Sample[]): string {
  if (samples.length === 0) return "";
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  return head + samples.map((sample) => renderSample(name, sample)).join("");
}

function renderSample(name: string, { suffix, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  const braced = pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
  return `${name}${suffix ?? ""}${braced} ${numberText(value)}\n`;
}

function numberText(value: number): string {
  if (Number.isFinite(value) || Number.isNaN(value)) return String(value);
  return value > 0 ? "+Inf" : "-Inf";
}

function escapeHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function escapeLabel(text: string): string {
  return escapeHelp(text).replaceAll('"', '\\"');
}
