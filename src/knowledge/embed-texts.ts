import type { Embeddings } from "../backends/vendors/embeddings.ts";
import type { Settings } from "../config/settings.ts";
import type { Vector } from "../core/embedding.ts";
import { ServiceError } from "../core/service-error.ts";
import { createQuestionFitter } from "./fit-questions.ts";

/** Embeds questions and passages with the prefixes that the model expects. This is the service's own work: no row, no limit. */
export interface Embedder {
  /** The model for new stores. Rejects with a `ServiceError` when the embedding server lists none. */
  readonly defaultModel: () => Promise<string>;
  /**
   * Embeds the beginning and end of a question that is longer than the model reads. Rejects with a `ServiceError`, or with
   * the signal's reason.
   *
   * @param onEmbedded gets the tokens that the engine has counted, 0 where it does not count.
   */
  readonly embedQuestion: (
    model: string,
    text: string,
    signal: AbortSignal,
    onEmbedded?: (tokens: number) => void,
  ) => Promise<Float32Array>;
  /** One vector a text, in their order. Rejects with a `ServiceError`, or with the signal's reason. */
  readonly embedPassages: (
    model: string,
    texts: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly Float32Array[]>;
}

interface Prefixes {
  readonly question: string;
  readonly passage: string;
}

const NO_PREFIXES: Prefixes = { question: "", passage: "" };
/** What the families of embedding models were trained with, by a part of their name. */
const PREFIXES: readonly (readonly [RegExp, Prefixes])[] = [
  [/nomic-embed/i, { question: "search_query: ", passage: "search_document: " }],
  [/\be5\b/i, { question: "query: ", passage: "passage: " }],
  [
    /qwen3-embedding/i,
    {
      question:
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
      passage: "",
    },
  ],
  [
    /embedding-?gemma/i,
    { question: "task: search result | query: ", passage: "title: none | text: " },
  ],
];

export function createEmbedder(
  embeddings: Pick<Embeddings, "embed" | "resolve">,
  settings: Pick<Settings, "EMBEDDING_QUERY_PREFIX" | "EMBEDDING_DOCUMENT_PREFIX">,
): Embedder {
  const embed = async (model: string, inputs: readonly string[], signal: AbortSignal) => {
    const request = {
      model,
      inputs,
      dimensions: undefined,
      encoding: "base64",
      extra: {},
    } as const;
    const { vectors, inputTokens } = await embeddings.embed(request, model, { signal });
    return { vectors, inputTokens };
  };
  const fitQuestion = createQuestionFitter();
  return {
    defaultModel: async () => embeddings.resolve(undefined),
    async embedQuestion(model, text, signal, onEmbedded) {
      const prefix = settings.EMBEDDING_QUERY_PREFIX ?? prefixesOf(model).question;
      const { vectors, inputTokens } = await fitQuestion({ model, text }, (fitting) =>
        embed(model, [prefix + fitting], signal),
      );
      onEmbedded?.(inputTokens ?? 0);
      const [vector] = vectors;
      if (vector === undefined) throw unusable("no vector");
      return unitVector(vector);
    },
    async embedPassages(model, texts, signal) {
      const prefix = settings.EMBEDDING_DOCUMENT_PREFIX ?? prefixesOf(model).passage;
      const prefixed = texts.map((text) => prefix + text);
      return (await embed(model, prefixed, signal)).vectors.map(unitVector);
    },
  };
}

function prefixesOf(model: string): Prefixes {
  return PREFIXES.find(([name]) => name.test(model))?.[1] ?? NO_PREFIXES;
}

/** Returns the vector at length 1, so that an inner product is a cosine. */
function unitVector(vector: Vector): Float32Array {
  const numbers = typeof vector === "string" ? fromBase64(vector) : Float32Array.from(vector);
  let squares = 0;
  for (const value of numbers) squares += value * value;
  const length = Math.sqrt(squares);
  if (!Number.isFinite(length) || length === 0) throw unusable("a vector without a direction");
  for (let index = 0; index < numbers.length; index += 1)
    numbers[index] = (numbers[index] ?? 0) / length;
  return numbers;
}

/** Little-endian, as every processor is that the server runs on. */
function fromBase64(text: string): Float32Array {
  const bytes = Buffer.from(text, "base64");
  const numbers = new Float32Array(Math.floor(bytes.byteLength / 4));
  new Uint8Array(numbers.buffer).set(bytes.subarray(0, numbers.byteLength));
  return numbers;
}

function unusable(what: string): ServiceError {
  return new ServiceError("upstream_error", `The embedding model returned ${what}.`);
}
