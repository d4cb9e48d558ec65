import { ServiceError } from "../core/service-error.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { ModelCatalog } from "./models/model-catalog.ts";
import type { ReplicaClient } from "./replicas/replica-client.ts";
import type { UpstreamFigures } from "./upstream/upstream-figures.ts";

/** A model server as this process sees it. */
export interface Engine {
  /** The backend's name; `embeddings` and `speech` for dedicated servers of these. */
  readonly backend: string;
  /** Its name and port. */
  readonly host: string;
  /** `unknown` until it was asked for anything. */
  readonly state: "up" | "down" | "unknown";
  /** Unix milliseconds; undefined while the state is unknown. */
  readonly since: number | undefined;
  /** Client calls in progress, of this process. */
  readonly openCalls: number;
  /** Ids of its chat models; undefined where the server lists none to the gateway. */
  readonly models: readonly string[] | undefined;
  /** Why it lists no models now; undefined when it does, and where it is not asked. */
  readonly failure: string | undefined;
}

export interface EngineSources {
  readonly figures: readonly UpstreamFigures[];
  /** Those of the local engine, where it has several addresses. */
  readonly replicas: Pick<ReplicaClient, "states"> | undefined;
  readonly models: Pick<ModelCatalog, "list" | "failureOf">;
  readonly clock: Clock;
}

/** Names of the dedicated servers, whose models are not in the catalogue. */
const WITHOUT_CATALOGUE: ReadonlySet<string> = new Set(["embeddings", "speech"]);

/** Lists all model servers, each address of the local engine by itself. Asks none of them. */
export async function listEngines(sources: EngineSources): Promise<readonly Engine[]> {
  const { figures, replicas, models, clock } = sources;
  const catalogue = await models.list().catch(() => []);
  const [local, ...others] = figures;
  const listed = (backend: string) =>
    WITHOUT_CATALOGUE.has(backend)
      ? undefined
      : catalogue.filter((model) => model.backend === backend).map(({ id }) => id);
  const one = ({ name, host, isSilent, since, openCalls }: UpstreamFigures): Engine => {
    const state = since === undefined ? "unknown" : upOrDown(!isSilent);
    const failure = failureText(models.failureOf(name));
    return { backend: name, host, state, since, openCalls, models: listed(name), failure };
  };
  if (local === undefined) return [];
  if (replicas === undefined) return figures.map(one);
  const now = clock.now();
  const locals = replicas.states().map(({ host, isUp, forMs, openCalls, models: own }): Engine => {
    const state = isUp === undefined ? "unknown" : upOrDown(isUp);
    const since = forMs === undefined ? undefined : Math.round(now - forMs);
    const { name: backend } = local;
    // The lists are read together: one that fails while others are up is the failure of those that are down.
    const failure = state === "up" ? undefined : failureText(models.failureOf(backend));
    return { backend, host, state, since, openCalls, models: own && [...own].sort(), failure };
  });
  return [...locals, ...others.map(one)];
}

function failureText(failure: unknown): string | undefined {
  if (failure === undefined) return undefined;
  return failure instanceof ServiceError ? failure.message : "The list of models failed.";
}

function upOrDown(isUp: boolean): "up" | "down" {
  return isUp ? "up" : "down";
}
