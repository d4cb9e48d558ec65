import { ServiceError } from "../../core/service-error.ts";
import type { Log } from "../../lib/log.ts";
import type { Clock } from "../../lib/time/clock.ts";
import type { Backend, Model } from "../backend.ts";
import type { KeptModels } from "./kept-models.ts";
import type { ModelOverrides } from "./models-file.ts";

/** A model and the backend that serves it. */
export interface Target {
  readonly backend: Backend;
  readonly model: Model;
}

/** The chat models of all backends, held in memory. */
export interface ModelCatalog {
  /**
   * Returns the model for the name in a request: the model of this name, else the default. It only waits for a name that
   * is not known before all backends have been asked once, and for a moment where there is no default. Throws
   * `model_not_found` for an assistant's id, `upstream_error` when there is no model at all.
   *
   * @param binding is `fixed` for a name that an assistant or a workflow has: while a backend has never listed its
   * models, the name may be of one of them, so it is an `upstream_error` instead of another backend's default.
   */
  readonly resolve: (name: string | undefined, binding?: "fixed") => Target | Promise<Target>;
  /** Returns the model of exactly this name in the last list; undefined when there is none. */
  readonly find: (name: string) => Target | undefined;
  /** Returns the last list of all models; asks the backends first when it is empty. */
  readonly list: () => Promise<readonly Model[]>;
  /** Returns whether every backend has listed its models, so that a name which is not among them is nobody's. */
  readonly isComplete: () => boolean;
  /** Returns why the list of a backend could not be refreshed last; undefined when it could. */
  readonly failureOf: (backend: string) => unknown;
  /**
   * Returns whether the local engine answered recently. Takes at most two seconds, whatever the engine does. Never
   * throws.
   */
  readonly reachable: () => Promise<boolean>;
  /** Refreshes the lists of all backends. Only one refresh runs at a time. Never throws. */
  readonly refresh: () => Promise<void>;
  /** Refreshes in the background until `stop`. */
  readonly start: () => void;
  readonly stop: () => void;
}

export interface CatalogOptions {
  /** The local engine comes first: it provides the default model and the reachability. */
  readonly backends: readonly [Backend, ...Backend[]];
  readonly defaultModel: string | undefined;
  /** What the operator says of single models, by model id. */
  readonly overrides?: ModelOverrides | undefined;
  /** The local engine's last list, from before the start. */
  readonly kept?: KeptModels | undefined;
  readonly log: Log;
  readonly clock: Clock;
}

const REFRESH_EVERY_MS = 15_000;
/** How long a call waits for a new list once all backends have been asked: one may swallow packets. */
const REFRESH_PATIENCE_MS = 1_000;
const REFRESH_TIMEOUT_MS = 30_000;
const REACHABLE_TTL_MS = 1_000;
const REACHABLE_TIMEOUT_MS = 2_000;
/** A caller waits this long for a fresh result, then gets the last one if it is recent enough. */
const REACHABLE_PATIENCE_MS = 50;
/** The usual interval of health checks, so that an engine that is merely slow under load stays reachable. */
const REACHABLE_YOUNG_MS = 10_000;
const ASSISTANT_PREFIX = "asst_";
/** Ollama's tag that may be omitted. */
const DEFAULT_TAG = ":latest";

interface BackendState {
  readonly backend: Backend;
  models: readonly Model[];
  /** It has listed its models, now or before the start. */
  isListed: boolean;
  /** The error of the last refresh; undefined when it succeeded. */
  failure: unknown;
}

export function createModelCatalog(options: CatalogOptions): ModelCatalog {
  const { backends, defaultModel, overrides, kept, log } = options;
  const states: readonly BackendState[] = backends.map((backend) => {
    const before = backend === backends[0] ? kept?.before(backend.name) : undefined;
    const models = withOverrides(before ?? [], overrides);
    return { backend, models, isListed: before !== undefined, failure: undefined };
  });
  let targets = new Map<string, Target>();
  let fallback: Target | undefined;
  let refreshing: Promise<void> | undefined;
  let hasAskedAll = false;
  let timer: ReturnType<typeof setInterval> | undefined;

  const refreshBackend = async (state: BackendState): Promise<void> => {
    try {
      const { backend } = state;
      const models = await backend.listModels(AbortSignal.timeout(REFRESH_TIMEOUT_MS));
      state.models = withOverrides(models, overrides);
      state.isListed = true;
      state.failure = undefined;
      index();
      if (backend === backends[0]) kept?.keep(backend.name, models);
    } catch (thrown) {
      // The last list is kept: the backend may recover in a moment, and a call finds out by itself.
      if (state.failure === undefined) logFailure(log, state.backend, thrown);
      state.failure = thrown;
    }
  };
  // Runs after each backend, so that one backend's models do not wait for a slow or unreachable one.
  const index = () => {
    targets = indexTargets(states);
    const firstLocal = states[0]?.models[0]?.id;
    fallback = targets.get(defaultModel ?? "") ?? targets.get(firstLocal ?? "");
  };
  index();
  const refreshAll = async (): Promise<void> => {
    await Promise.all(states.map(refreshBackend));
    hasAskedAll = true;
  };
  const refresh = (): Promise<void> => {
    refreshing ??= refreshAll().finally(() => {
      refreshing = undefined;
    });
    return refreshing;
  };
  const unlisted = () => states.find(({ isListed }) => !isListed);
  const resolveAfterRefresh = async (
    name: string | undefined,
    binding: "fixed" | undefined,
  ): Promise<Target> => {
    await (hasAskedAll ? orAfter(REFRESH_PATIENCE_MS, refresh(), undefined) : refresh());
    const target = name === undefined ? undefined : targets.get(name);
    if (target !== undefined) return target;
    const silent = unlisted();
    if (binding === "fixed" && name !== undefined && silent !== undefined) throw notYet(silent);
    if (fallback === undefined) throw noModel(states, targets.size > 0);
    return fallback;
  };

  return {
    resolve(name, binding) {
      const target = name === undefined ? undefined : targets.get(name);
      if (target !== undefined) return target;
      if (name?.startsWith(ASSISTANT_PREFIX) === true) throw noAssistant(name);
      // A name may be a local model's as long as the engine has not been asked, and the default model a cloud's.
      const isSettled = hasAskedAll && (binding === undefined || unlisted() === undefined);
      return (isSettled ? fallback : undefined) ?? resolveAfterRefresh(name, binding);
    },
    find: (name) => targets.get(name),
    async list() {
      if (targets.size === 0) await refresh();
      return states.flatMap(({ backend, models }) =>
        models.filter(({ id }) => targets.get(id)?.backend === backend),
      );
    },
    isComplete: () => unlisted() === undefined,
    failureOf: (name) => states.find(({ backend }) => backend.name === name)?.failure,
    reachable: createReachability(backends[0], options.clock),
    refresh,
    start() {
      timer ??= setInterval(refresh, REFRESH_EVERY_MS);
      timer.unref();
      void refresh();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

/** Indexes the models by all their names. Of equal names the earlier backend's wins. */
function indexTargets(states: readonly BackendState[]): Map<string, Target> {
  const targets = new Map<string, Target>();
  const shortNames = new Map<string, Target>();
  for (const { backend, models } of states) {
    for (const model of models) {
      const target = { backend, model };
      if (!targets.has(model.id)) targets.set(model.id, target);
      if (!model.id.endsWith(DEFAULT_TAG)) continue;
      shortNames.set(model.id.slice(0, -DEFAULT_TAG.length), target);
    }
  }
  for (const [name, target] of shortNames) if (!targets.has(name)) targets.set(name, target);
  return targets;
}

/** Returns the chat models as the operator describes them. */
function withOverrides(
  models: readonly Model[],
  overrides: ModelOverrides | undefined,
): readonly Model[] {
  return models.flatMap((model) => withOverride(model, overrides));
}

/** Returns none when it is no chat model. */
function withOverride(model: Model, overrides: ModelOverrides | undefined): readonly Model[] {
  const { id } = model;
  const shortName = id.endsWith(DEFAULT_TAG) ? id.slice(0, -DEFAULT_TAG.length) : id;
  const { chat = true, ...traits } = overrides?.get(id) ?? overrides?.get(shortName) ?? {};
  return chat ? [{ ...model, ...traits }] : [];
}

function createReachability(backend: Backend, clock: Clock): () => Promise<boolean> {
  let last: { readonly value: boolean; readonly at: number } | undefined;
  let asking: Promise<boolean> | undefined;

  const ask = async (): Promise<boolean> => {
    const value = await backend.isReachable(AbortSignal.timeout(REACHABLE_TIMEOUT_MS));
    last = { value, at: clock.now() };
    asking = undefined;
    return value;
  };

  return () => {
    const ageMs = last === undefined ? Number.POSITIVE_INFINITY : Math.abs(clock.now() - last.at);
    if (last !== undefined && ageMs < REACHABLE_TTL_MS) return Promise.resolve(last.value);
    asking ??= ask();
    if (last === undefined || ageMs >= REACHABLE_YOUNG_MS) return asking;
    return orAfter(REACHABLE_PATIENCE_MS, asking, last.value);
  };
}

/** Returns the result of `promise`, or `otherwise` after `timeoutMs`. */
function orAfter<Value>(
  timeoutMs: number,
  promise: Promise<Value>,
  otherwise: Value,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(otherwise), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function logFailure(log: Log, { name }: Backend, thrown: unknown): void {
  const text = thrown instanceof ServiceError ? thrown.message : "The list of models failed.";
  log.warn({ backend: name, error: thrown instanceof ServiceError ? undefined : thrown }, text);
}

function noAssistant(name: string): ServiceError {
  return new ServiceError("model_not_found", `The assistant '${name}' does not exist.`, {
    param: "model",
  });
}

/** Returns the error for a name that is not listed when there is no default model either. */
function noModel(states: readonly BackendState[], areOthersListed: boolean): ServiceError {
  const [local] = states;
  if (areOthersListed && local?.isListed === false) return notYet(local);
  if (areOthersListed) {
    return new ServiceError(
      "upstream_error",
      "No such model is listed, and there is no default model because the local engine lists none. Use a model from GET /v1/models, or set DEFAULT_CHAT_MODEL to one.",
    );
  }
  const failure = states.find((state) => state.failure !== undefined)?.failure;
  if (failure instanceof ServiceError) return failure;
  return new ServiceError(
    "upstream_error",
    "There is no chat model: the model server lists none. Load one there, then call again.",
  );
}

/** Returns the error for a name that is not listed and may be of a backend that has never listed its models. */
function notYet({ backend, failure }: BackendState): ServiceError {
  const why = failure instanceof ServiceError ? ` ${failure.message}` : "";
  return new ServiceError(
    "upstream_error",
    `No such model is listed, and '${backend.name}' has not answered yet, which may have it.${why}`,
    { cause: failure },
  );
}
