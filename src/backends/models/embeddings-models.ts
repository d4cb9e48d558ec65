import { ServiceError } from "../../core/service-error.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { createKnownNames } from "./known-names.ts";
import { isNameOf, type ListedName } from "./list-names.ts";
import { isChatModelName, isEmbeddingModelName } from "./model-traits.ts";

export interface EmbeddingModels {
  /**
   * The names of the embedding models, as their server lists them. Never rejects; empty while the server cannot be
   * reached.
   */
  readonly list: () => Promise<readonly string[]>;
  /**
   * Returns the model for the name in a request: the embedding model of this name, else the default model. Throws
   * `upstream_error` when there is none.
   */
  readonly resolve: (word: string | undefined) => string | Promise<string>;
}

export interface EmbeddingModelsOptions {
  readonly upstream: Upstream;
  readonly listNames: (upstream: Upstream, signal: AbortSignal) => Promise<readonly ListedName[]>;
  /** The server only serves embeddings: if no name identifies an embedding model, any of its models is used. */
  readonly isDedicated: boolean;
  /** The model for a missing or unknown name. */
  readonly defaultModel: string | undefined;
}

const LIST_TIMEOUT_MS = 15_000;

/** Lists the embedding models and resolves the names in requests. It does not wait while the name is known. */
export function createEmbeddingModels(options: EmbeddingModelsOptions): EmbeddingModels {
  const { upstream, listNames, isDedicated, defaultModel } = options;
  const known = createKnownNames(async () => {
    const listed = await listNames(upstream, AbortSignal.timeout(LIST_TIMEOUT_MS));
    return embeddingNames(listed, isDedicated);
  }, upstream.clock);

  const find = (word: string | undefined) => {
    if (word === undefined) return undefined;
    return known.now().find((name) => isNameOf(name, word));
  };
  const resolve = (word: string | undefined) => {
    const settled = known.settled();
    const found = find(word);
    if (found !== undefined) return found;
    return settled.then(() => {
      const name = find(word) ?? find(defaultModel) ?? defaultModel ?? known.now()[0];
      if (name === undefined) throw noModel(known.failure(), upstream);
      return name;
    });
  };
  return {
    resolve,
    async list() {
      await known.settled();
      return known.now();
    },
  };
}

function embeddingNames(listed: readonly ListedName[], isDedicated: boolean): readonly string[] {
  const embedding = listed.filter(
    ({ name, capabilities }) => capabilities?.includes("embedding") ?? isEmbeddingModelName(name),
  );
  const found = embedding.length === 0 && isDedicated ? listed.filter(mayEmbed) : embedding;
  return found.map(({ name }) => name);
}

/** Returns true unless its name shows another purpose. */
function mayEmbed({ name }: ListedName): boolean {
  return isChatModelName(name);
}

function noModel(failure: unknown, { addressSetting }: Upstream): ServiceError {
  if (failure instanceof ServiceError) return failure;
  return new ServiceError(
    "upstream_error",
    `There is no embedding model: the server in ${addressSetting} lists none. Load one there, set one in EMBEDDING_MODEL, or set EMBEDDING_BASE_URL to a server that has one.`,
  );
}
