import type { Embeddings } from "../backends/vendors/embeddings.ts";
import type { EmbeddingAnswer, EmbeddingRequest } from "../core/embedding.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { refuseBoundKey } from "./admit.ts";
import type { ClientCall } from "./gateway.ts";
import type { MeteringGateway } from "./meter/call-meter.ts";
import { meterEmbedding } from "./meter/meter-embedding.ts";

/** The part of the gateway that embeddings need. */
export interface EmbeddingGateway extends MeteringGateway {
  readonly embeddings: Embeddings;
}

export interface EmbeddingReply extends EmbeddingAnswer {
  readonly model: string;
  /** The engine's figure, or the estimate if the engine reports no figure. */
  readonly inputTokens: number;
  /** The remaining limits of the caller's key; undefined when it has no limits. */
  readonly limits: LimitStatus | undefined;
}

/** Answers a call for embeddings and writes its usage row. Throws a `ServiceError`. */
export async function embed(
  gateway: EmbeddingGateway,
  call: ClientCall,
  request: EmbeddingRequest,
): Promise<EmbeddingReply> {
  refuseBoundKey(call.caller);
  const { embeddings } = gateway;
  embeddings.check(request);
  const model = await embeddings.resolve(request.model);
  const metered = { model, inputs: request.inputs };
  const { result, inputTokens, limits } = await meterEmbedding(
    gateway,
    call,
    metered,
    async (onEmbedded) => {
      const answer = await embeddings.embed(request, model, call);
      onEmbedded(answer.inputTokens ?? 0);
      return answer;
    },
  );
  return { ...result, model, inputTokens: result.inputTokens ?? inputTokens, limits };
}
