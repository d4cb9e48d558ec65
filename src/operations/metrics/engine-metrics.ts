import type { UpstreamFigures } from "../../backends/upstream/upstream-figures.ts";
import { byLabel, eachWith, type Metric, single } from "./metric.ts";

/** The servers of models. A label `backend` is one of those that the settings name. */
export const ENGINE_METRICS: readonly Metric[] = [
  {
    name: "svc_llm_backend_up",
    type: "gauge",
    help: "1 when the local backend is reachable.",
    labels: [],
    read: ({ isEngineUp }) => single(isEngineUp),
  },
  {
    name: "svc_upstream_up",
    type: "gauge",
    help: "1 unless nobody was reached at the backend, or none answered in time, when it was last asked for anything; the local engine is asked at each scrape.",
    labels: ["backend"],
    read: ({ upstreams, isEngineUp }) =>
      eachWith("backend", byName(upstreams), (figures) =>
        single(figures === upstreams[0] ? isEngineUp : !figures.isSilent),
      ),
  },
  {
    name: "svc_upstream_calls_total",
    type: "counter",
    help: "Calls to a backend on behalf of a client that have ended, by the status of the answer or by what went wrong with the connection.",
    labels: ["backend", "outcome"],
    read: ({ upstreams }) =>
      eachWith("backend", byName(upstreams), ({ outcomes }) => byLabel("outcome", outcomes)),
  },
  {
    name: "svc_upstream_retries_total",
    type: "counter",
    help: "Further tries of calls that a backend refused before its first byte.",
    labels: ["backend"],
    read: ({ upstreams }) =>
      eachWith("backend", byName(upstreams), ({ retries }) => single(retries)),
  },
];

function byName(upstreams: readonly UpstreamFigures[]): Readonly<Record<string, UpstreamFigures>> {
  return Object.fromEntries(upstreams.map((figures) => [figures.name, figures]));
}
