import type { Embeddings } from "../backends/embeddings.ts";
import type { EmbeddingAnswer, EmbeddingInput, EmbeddingRequest } from "../core/embedding.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { meteredAnswer } from "./metered-answer.ts";

/** What embeddings stand on. */
export interface EmbeddingGateway extends Pick<Gateway, "journal" | "clock"> {
  readonly embeddings: Embeddings;
}

export interface EmbeddingReply extends EmbeddingAnswer {
  /** The id of the model that answered. */
  readonly model: string;
  /** The engine's figure, else the estimate. */
  readonly inputTokens: number;
}

/**
 * Answers a call for embeddings and writes its usage row, which holds the estimate whatever the engine reports.
 * Throws a `ServiceError`.
 */
export async function embed(
  { embeddings, journal, clock }: EmbeddingGateway,
  call: ClientCall,
  request: EmbeddingRequest,
): Promise<EmbeddingReply> {
  embeddings.check(request);
  const model = await embeddings.resolve(request.model);
  const { requestId, caller, channel, startedAt, signal } = call;
  const inputTokens = estimateEmbeddingTokens(request.inputs);
  const start = { id: requestId, keyId: caller.keyId, channel, model, startedAt, inputTokens };
  const metered = { start, entry: await journal.open(start), clock, signal };
  const usage = { inputTokens, outputTokens: 0, estimated: true };
  const answer = await meteredAnswer(
    metered,
    embeddings.embed(request, model, signal),
    () => usage,
  );
  return { ...answer, model, inputTokens: answer.inputTokens ?? inputTokens };
}

/** The estimate of texts by their characters; tokens are counted. */
function estimateEmbeddingTokens(inputs: readonly EmbeddingInput[]): number {
  let characters = 0;
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === "string") characters += input.length;
    else tokens += input.length;
  }
  return tokens + estimateTokens(characters);
}
