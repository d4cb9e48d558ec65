import { byLabel, eachWith, type Metric, single } from "../core/metric.ts";
import type { Part } from "../core/part.ts";
import { engineDownAlert } from "./engine-down.ts";
import { openKeptModels } from "./models/kept-models.ts";
import { createRegistry, type Registry, type RegistryOptions } from "./registry.ts";
import type { UpstreamFigures } from "./upstream/upstream-figures.ts";

/** Builds the backends that the settings name, and keeps the list of their models up to date until closed. */
export async function openBackends(
  options: Omit<RegistryOptions, "kept">,
): Promise<Registry & Part> {
  const kept = await openKeptModels(options.settings.DATA_DIR, options.log);
  const registry = createRegistry({ ...options, kept });
  const { backends, models, figures } = registry;
  models.start();
  let isEngineUp = false;
  return {
    ...registry,
    metrics: backendMetrics(figures, () => isEngineUp),
    async refresh() {
      isEngineUp = await models.reachable();
    },
    alerts: [engineDownAlert(backends[0], options.settings)],
    checks: { llm: models.reachable },
  };
}

/** A label `backend` is one of those that the settings name. The figures of the local engine come first. */
function backendMetrics(
  upstreams: readonly UpstreamFigures[],
  isEngineUp: () => boolean,
): readonly Metric[] {
  const byBackend = () => Object.fromEntries(upstreams.map((figures) => [figures.name, figures]));
  return [
    {
      name: "svc_llm_backend_up",
      type: "gauge",
      help: "1 when the local backend is reachable.",
      labels: [],
      read: () => single(isEngineUp()),
    },
    {
      name: "svc_upstream_up",
      type: "gauge",
      help: "1 unless nobody was reached at the backend, or none answered in time, when it was last asked for anything; the local engine is asked at each scrape.",
      labels: ["backend"],
      read: () =>
        eachWith("backend", byBackend(), (figures) =>
          single(figures === upstreams[0] ? isEngineUp() : !figures.isSilent),
        ),
    },
    {
      name: "svc_upstream_calls_total",
      type: "counter",
      help: "Calls to a backend on behalf of a client that have ended, by the status of the answer or by what went wrong with the connection.",
      labels: ["backend", "outcome"],
      read: () => eachWith("backend", byBackend(), ({ outcomes }) => byLabel("outcome", outcomes)),
    },
    {
      name: "svc_upstream_retries_total",
      type: "counter",
      help: "Further tries of calls that a backend refused before its first byte.",
      labels: ["backend"],
      read: () => eachWith("backend", byBackend(), ({ retries }) => single(retries)),
    },
  ];
}
