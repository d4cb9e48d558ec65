import type { Settings } from "../config/settings.ts";
import { createEgress } from "../lib/egress/egress.ts";
import { createHttpClient } from "../lib/http/create-http-client.ts";
import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import type { Backend } from "./backend.ts";
import { type Engine, listEngines } from "./engines.ts";
import { createFetchImage } from "./images/fetch-image.ts";
import { withInlineImages } from "./images/inline-images.ts";
import type { KeptModels } from "./models/kept-models.ts";
import { createModelCatalog, type ModelCatalog } from "./models/model-catalog.ts";
import type { ModelOverrides } from "./models/models-file.ts";
import { dedicatedUpstream } from "./upstream/dedicated-upstream.ts";
import { localUpstream } from "./upstream/local-upstream.ts";
import type { Upstream } from "./upstream/upstream.ts";
import {
  createUpstreamBook,
  type UpstreamBook,
  type UpstreamFigures,
} from "./upstream/upstream-figures.ts";
import { createCloudBackends } from "./vendors/cloud-backends.ts";
import { createEmbeddings, type Embeddings } from "./vendors/embeddings.ts";
import { createOllama } from "./vendors/ollama.ts";
import { createSpeech, type Speech } from "./vendors/speech.ts";
import { createVllm } from "./vendors/vllm.ts";

export interface Registry {
  /** The configured backends; the local engine comes first. */
  readonly backends: readonly [Backend, ...Backend[]];
  readonly models: ModelCatalog;
  readonly embeddings: Embeddings;
  readonly speech: Speech;
  /** The local engine's figures come first. */
  readonly figures: readonly UpstreamFigures[];
  /** Lists the configured model servers as this process sees them, the local engine's first. */
  readonly engines: () => Promise<readonly Engine[]>;
  /** Stops the background work and closes all connections. */
  readonly close: () => Promise<void>;
}

export interface RegistryOptions {
  readonly settings: Settings;
  /** The content of `MODELS_FILE`. */
  readonly overrides?: ModelOverrides | undefined;
  /** The local engine's last list, from before the start. */
  readonly kept?: KeptModels | undefined;
  readonly log: Log;
  readonly clock: Clock;
}

/** Builds the configured backends. */
export function createRegistry(options: RegistryOptions): Registry {
  const { settings, overrides, kept, log, clock } = options;
  const client = createHttpClient();
  const book = createUpstreamBook();
  const localServer = localUpstream({ settings, client, clock, log, book });
  const fetchImage = createFetchImage(createEgress({ allow: settings.EGRESS_ALLOW }));
  const local = withInlineImages(createLocal(settings, localServer), fetchImage);
  const limits = { ...localServer.limits, retries: settings.GATEWAY_RETRIES };
  const shared = { client, clock, limits };
  const clouds = createCloudBackends(settings, { shared, fetchImage, book, log });
  const backends = [local, ...clouds] as const;
  const models = createModelCatalog({
    backends,
    defaultModel: settings.DEFAULT_CHAT_MODEL,
    overrides: withoutEmbeddingModel(settings, overrides),
    kept,
    log,
    clock,
  });
  return {
    backends,
    models,
    embeddings: createEmbedder(settings, localServer, book),
    speech: createTranscriber(settings, localServer, book),
    figures: book.all,
    engines: () =>
      listEngines({ figures: book.all, replicas: localServer.replicas, models, clock }),
    async close() {
      models.stop();
      await localServer.replicas?.close();
      await client.close();
      await kept?.settled();
    },
  };
}

/** vLLM does not tell what its models are for, and the name of an embedding model may not say so. */
function withoutEmbeddingModel(
  { EMBEDDING_MODEL: model, EMBEDDING_BASE_URL: dedicated, LLM_BACKEND: kind }: Settings,
  overrides: ModelOverrides = new Map(),
): ModelOverrides {
  if (model === undefined || dedicated !== undefined || kind !== "vllm") return overrides;
  return new Map(overrides).set(model, { ...overrides.get(model), chat: false });
}

function createLocal(settings: Settings, upstream: Upstream): Backend {
  switch (settings.LLM_BACKEND) {
    case "vllm":
      return createVllm(upstream);
    case "ollama":
      return createOllama(upstream, settings.LLM_CONTEXT_LENGTH);
  }
}

/** Embeds on the embedding server of the settings, else on the local engine. */
function createEmbedder(settings: Settings, local: Upstream, book: UpstreamBook): Embeddings {
  const { EMBEDDING_BASE_URL, EMBEDDING_API_KEY, EMBEDDING_MODEL, LLM_BACKEND } = settings;
  const dedicated = dedicatedUpstream(
    {
      address: EMBEDDING_BASE_URL,
      addressSetting: "EMBEDDING_BASE_URL",
      apiKey: EMBEDDING_API_KEY,
      openFigures: (address) => book.open("embeddings", address),
      retries: settings.GATEWAY_RETRIES,
    },
    local,
  );
  return createEmbeddings({
    upstream: dedicated ?? local,
    kind: dedicated === undefined ? LLM_BACKEND : "vllm",
    isDedicated: dedicated !== undefined,
    defaultModel: EMBEDDING_MODEL,
  });
}

/** Transcribes on the speech server of the settings, else on the local engine. */
function createTranscriber(settings: Settings, local: Upstream, book: UpstreamBook): Speech {
  const { SPEECH_BASE_URL, SPEECH_API_KEY, LLM_BACKEND } = settings;
  const dedicated = dedicatedUpstream(
    {
      address: SPEECH_BASE_URL,
      addressSetting: "SPEECH_BASE_URL",
      apiKey: SPEECH_API_KEY,
      openFigures: (address) => book.open("speech", address),
      retries: settings.GATEWAY_RETRIES,
    },
    local,
  );
  return createSpeech({
    upstream: dedicated ?? local,
    kind: dedicated === undefined ? LLM_BACKEND : "vllm",
    isDedicated: dedicated !== undefined,
  });
}
