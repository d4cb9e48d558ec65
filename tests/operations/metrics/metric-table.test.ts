import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHANNELS } from "../../../src/core/channel.ts";
import type { Metric } from "../../../src/core/metric.ts";
import { startJobs } from "../../../src/jobs.ts";
import { readScrape } from "../../support/clients/scrape-metrics.ts";
import { hasPromtool, lintMetrics } from "../../support/processes/promtool.ts";
import { databaseServerUrl } from "../../support/servers/databases/database-server.ts";
import { type ServedDeps, serveDeps } from "../../support/stages/served-deps.ts";

/** Section 4.6 of the specification, with the values of labels that are certain to exist. */
const SPECIFIED: Readonly<Record<string, readonly [string, readonly string[]] | null>> = {
  svc_gateway_requests_24h: ["channel", CHANNELS],
  svc_gateway_errors_24h: ["channel", CHANNELS],
  svc_gateway_rate_limited_24h: ["channel", CHANNELS],
  svc_gateway_input_tokens_24h: ["channel", CHANNELS],
  svc_gateway_output_tokens_24h: ["channel", CHANNELS],
  svc_gateway_latency_ms_24h: ["quantile", ["0.5", "0.95", "0.99"]],
  svc_llm_backend_up: null,
  svc_api_keys: ["state", ["active", "inactive"]],
  svc_connections: ["kind", ["postgres", "mysql", "sqlite"]],
  svc_mcp_servers: ["status", ["connected", "disabled", "error"]],
  svc_pipeline_runs_24h: ["status", ["queued", "running", "completed", "failed", "stopped"]],
  svc_pipeline_queue_oldest_age_seconds: null,
  svc_pipeline_runs_stale_running: null,
  svc_event_outbox_pending: null,
  svc_event_outbox_oldest_age_seconds: null,
  svc_event_outbox_dead: null,
  svc_scheduler_up: null,
};
/** What is not 0 in a gateway that nobody has called and whose engine is away. */
const NOT_ZERO: Readonly<Record<string, number>> = {
  'svc_api_keys{state="active"}': 1,
  svc_scheduler_up: 1,
};

/** The specification's name: its unit is none that Prometheus would have. */
const KNOWN_FINDING =
  "svc_gateway_latency_ms_24h metric names should not contain abbreviated units";

/** A histogram's buckets have one label more; a summary's sums have none. */
function labelsOf(
  type: string,
  suffix: string | undefined,
  labels: readonly string[],
): readonly string[] {
  if (suffix === "_bucket") return [...labels, "le"];
  return type === "summary" && suffix ? [] : labels;
}

let served: ServedDeps;
let jobs: { readonly stop: () => void };
/** What the parts bring. */
let metrics: readonly Metric[];
let text: string;

beforeAll(async () => {
  served = await serveDeps(databaseServerUrl, {
    METRICS_ENABLED: "1",
    LLM_BACKEND: "vllm",
    LLM_BASE_URL: "http://127.0.0.1:1",
    // Every kind of backend has its lines.
    OPENAI_API_KEY: "no-key-of-anybody",
    OPENAI_MODELS: "gpt-5",
    EMBEDDING_BASE_URL: "http://127.0.0.1:1",
    SPEECH_BASE_URL: "http://127.0.0.1:1",
  });
  jobs = startJobs(served.deps);
  metrics = served.deps.parts.flatMap((part) => part.metrics ?? []);
  text = await (await fetch(`${served.url}/metrics`)).text();
});
afterAll(async () => {
  jobs?.stop();
  await served?.close();
});

/** What `# TYPE` says of each metric that is shown. */
const shownTypes = () =>
  new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]));

describe("every metric", () => {
  it("of the specification is there from the first scrape, with every label, and 0", () => {
    const scrape = readScrape(text);
    for (const [name, labelled] of Object.entries(SPECIFIED)) {
      const lines =
        labelled === null
          ? [name]
          : labelled[1].map((value) => `${name}{${labelled[0]}="${value}"}`);
      for (const line of lines)
        expect([line, scrape.get(line)]).toEqual([line, NOT_ZERO[line] ?? 0]);
      expect(metrics.find((metric) => metric.name === name)?.labels).toEqual(
        labelled === null ? [] : [labelled[0]],
      );
    }
    expect(scrape.get("svc_gateway_latency_ms_24h_sum")).toBe(0);
    expect(scrape.get("svc_gateway_latency_ms_24h_count")).toBe(0);
  });

  it("of a part is shown once, with its type and its help", () => {
    const types = shownTypes();
    expect([...types.keys()]).toEqual(metrics.map(({ name }) => name));
    for (const { name, type, help } of metrics) {
      expect(types.get(name)).toBe(type);
      expect(text).toContain(`# HELP ${name} ${help}\n`);
    }
  });

  it("has a name of its own that says what it is", () => {
    expect(new Set(metrics.map(({ name }) => name)).size).toBe(metrics.length);
    for (const { name, type, help } of metrics) {
      expect(name).toMatch(/^svc_[a-z0-9]+(_[a-z0-9]+)*$/);
      expect([name, name.endsWith("_total")]).toEqual([name, type === "counter"]);
      expect(help).toMatch(/^[A-Z0-9].*\.$/);
    }
  });

  it("has in each line just the labels that its entry names", () => {
    for (const { name, type, labels } of metrics) {
      const [, block = ""] = text.split(`# TYPE ${name} ${type}\n`);
      const [lines = ""] = block.split("# HELP");
      for (const line of lines.trimEnd().split("\n")) {
        const [, suffix, pairs = ""] = /^([a-z_0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
        const found = [...pairs.matchAll(/([a-z_]+)="[^"]*"/g)].map(([, label]) => label);
        expect([line, found]).toEqual([line, labelsOf(type, suffix?.slice(name.length), labels)]);
      }
    }
  });

  it("takes no more than some hundred lines together", () => {
    expect(readScrape(text).size).toBeLessThan(700);
  });

  it.runIf(hasPromtool)(
    "is good in all that promtool knows, but for a name that the specification gives",
    async () => {
      expect(text).toContain('svc_upstream_up{backend="openai"} 1');
      expect(text).toContain('svc_upstream_up{backend="embeddings"} 1');
      expect(text).toContain('svc_upstream_up{backend="speech"} 1');
      expect(await lintMetrics(text)).toEqual({ code: 3, said: KNOWN_FINDING });
      expect(
        await lintMetrics(text.replaceAll("svc_gateway_latency_ms_24h", "svc_gateway_latency_24h")),
      ).toEqual({
        code: 0,
        said: "",
      });
    },
  );
});
