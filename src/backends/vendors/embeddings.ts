import type { EmbeddingCodec } from "../../codecs/embeddings/client.ts";
import { ollamaEmbeddings } from "../../codecs/embeddings/ollama-client.ts";
import { openaiEmbeddings } from "../../codecs/embeddings/openai-client.ts";
import {
  readErrorMessage as readOllamaMessage,
  readContextOverflow as readOllamaOverflow,
} from "../../codecs/ollama-chat/engine-errors.ts";
import {
  readChunkError,
  readErrorMessage as readOpenaiMessage,
} from "../../codecs/shared/errors/openai-errors.ts";
import { readContextOverflow as readOpenaiOverflow } from "../../codecs/shared/errors/openai-overflow.ts";
import type { ContextOverflow } from "../../core/context-overflow.ts";
import type { EmbeddingAnswer, EmbeddingRequest } from "../../core/embedding.ts";
import { ServiceError } from "../../core/service-error.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import type { CallContext } from "../backend.ts";
import { createEmbeddingModels, type EmbeddingModels } from "../models/embeddings-models.ts";
import { type ListedName, listCards, listTags } from "../models/list-names.ts";
import { LOCAL_PARAMETERS } from "../rules/parameter-rules.ts";
import { callUpstream } from "../upstream/call-upstream.ts";
import { concealError } from "../upstream/conceal.ts";
import { withVersion } from "../upstream/dedicated-upstream.ts";
import { isWholeAnswer, type RefusalReader, readRefusal } from "../upstream/read-refusal.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { refusalError, type UpstreamRefusal } from "../upstream/upstream-refusal.ts";
import type { UpstreamResponse } from "../upstream/upstream-response.ts";
import { readLlamaCppRefusal } from "./llama-cpp-refusal.ts";

/** Embeds texts, and lists the models for it. */
export interface Embeddings extends EmbeddingModels {
  /** Throws a `ServiceError` when the engine cannot take such a request, whatever its model. */
  readonly check: (request: EmbeddingRequest) => void;
  /** Rejects with a `ServiceError`, or with the reason of the signal, which ends the call at once. */
  readonly embed: (
    request: EmbeddingRequest,
    model: string,
    context: CallContext,
  ) => Promise<EmbeddingAnswer>;
}

export interface EmbeddingsOptions {
  readonly upstream: Upstream;
  /** Its wire format; `vllm` stands for any server of the OpenAI format. */
  readonly kind: "vllm" | "ollama";
  /** The server only serves embeddings. */
  readonly isDedicated: boolean;
  /** The model for a missing or unknown name. */
  readonly defaultModel: string | undefined;
}

/** A kind of server, as data. */
interface EmbeddingEngine extends RefusalReader {
  readonly upstream: Upstream;
  /** Relative to the address. */
  readonly path: string;
  readonly codec: EmbeddingCodec;
  readonly takesTokens: boolean;
  readonly listNames: (upstream: Upstream, signal: AbortSignal) => Promise<readonly ListedName[]>;
  readonly readOverflow: (message: string) => ContextOverflow | undefined;
}

/** Room for 2,048 vectors of 4,096 numbers in text form. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

export function createEmbeddings(options: EmbeddingsOptions): Embeddings {
  const engine = engineOf(options);
  const { upstream, listNames } = engine;
  return {
    ...createEmbeddingModels({ ...options, upstream, listNames }),
    check({ inputs }) {
      if (engine.takesTokens || typeof inputs[0] === "string") return;
      throw new ServiceError(
        "invalid_value",
        "The embedding engine does not accept tokens: send 'input' as text or a list of texts.",
        { param: "input" },
      );
    },
    embed: (request, model, { signal, trace }) =>
      embed(engine, { ...request, extra: allowed(request.extra) }, { model, signal, trace }),
  };
}

function engineOf({ kind, upstream }: EmbeddingsOptions): EmbeddingEngine {
  switch (kind) {
    case "vllm":
      return {
        upstream: withVersion(upstream),
        path: "/embeddings",
        codec: openaiEmbeddings,
        takesTokens: true,
        listNames: listCards,
        readErrorMessage: readOpenaiMessage,
        readRefusalBody: readLlamaCppRefusal,
        readOverflow: readOpenaiOverflow,
      };
    case "ollama":
      return {
        upstream,
        path: "/api/embed",
        codec: ollamaEmbeddings,
        takesTokens: false,
        listNames: listTags,
        readErrorMessage: readOllamaMessage,
        readOverflow: readOllamaOverflow,
      };
  }
}

/**
 * Removes extra fields that would harm other users of the engine, and `options`, which can make it reload the model.
 */
function allowed({ options: _options, ...extra }: JsonObject): JsonObject {
  const { except } = LOCAL_PARAMETERS.others;
  return Object.fromEntries(Object.entries(extra).filter(([name]) => !except.includes(name)));
}

interface Call extends CallContext {
  readonly model: string;
}

async function embed(
  engine: EmbeddingEngine,
  request: EmbeddingRequest,
  call: Call,
): Promise<EmbeddingAnswer> {
  const response = await send(engine, request, call);
  if (isWholeAnswer(response)) {
    return readAnswer(engine, await response.text(MAX_ANSWER_BYTES), request);
  }
  const refusal = await readRefusal(response, engine);
  call.signal.throwIfAborted();
  if (request.encoding === "base64" && isAboutEncoding(refusal)) {
    return embed(engine, { ...request, encoding: "float" }, call);
  }
  throw concealError(toError(engine, refusal), engine.upstream);
}

function send(
  { upstream, path, codec }: EmbeddingEngine,
  request: EmbeddingRequest,
  { model, signal, trace }: Call,
): Promise<UpstreamResponse> {
  const body = codec.build(request, model);
  return callUpstream(upstream, { path, body, stream: false, signal, trace });
}

/** Some servers do not support base64. */
function isAboutEncoding({ status, message = "" }: UpstreamRefusal): boolean {
  return (status === 400 || status === 422) && /encoding_format|base64/i.test(message);
}

function toError({ readOverflow }: EmbeddingEngine, refusal: UpstreamRefusal): ServiceError {
  const { status, message } = refusal;
  const overflow = refusal.overflow ?? readOverflow(message ?? "");
  if (status !== 400 || message === undefined || overflow === undefined) {
    return refusalError(refusal);
  }
  return new ServiceError("context_length_exceeded", message, {
    param: "input",
    upstreamStatus: status,
  });
}

function readAnswer(
  { codec, upstream }: EmbeddingEngine,
  text: string,
  request: EmbeddingRequest,
): EmbeddingAnswer {
  const answer = parseJson(text);
  const error = isJsonObject(answer) ? readChunkError(answer) : undefined;
  if (error !== undefined) throw concealError(error, upstream);
  return codec.readAnswer(answer, request);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
