import type { Embeddings } from "../backends/vendors/embeddings.ts";
import type { EmbeddingAnswer, EmbeddingInput, EmbeddingRequest } from "../core/embedding.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { LimitStatus } from "../core/limit-status.ts";
import { admitCall, refuseBoundKey } from "./admit.ts";
import type { ClientCall } from "./gateway.ts";
import { CallMeter, type MeteringGateway } from "./meter/call-meter.ts";
import { meterWhole } from "./meter/meter.ts";

/** What a tokenizer adds to a text: its beginning, its end and an instruction's place. */
const MARK_TOKENS = 4;

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

/**
 * Answers a call for embeddings and writes its usage row, which always has the estimate, even when the engine reports a
 * figure. Limits are charged the larger of the two. Throws a `ServiceError`.
 */
export async function embed(
  gateway: EmbeddingGateway,
  call: ClientCall,
  request: EmbeddingRequest,
): Promise<EmbeddingReply> {
  refuseBoundKey(call.caller);
  const { embeddings } = gateway;
  embeddings.check(request);
  const model = await embeddings.resolve(request.model);
  const inputTokens = estimateEmbeddingTokens(request.inputs);
  const bound = boundEmbeddingTokens(request.inputs);
  const admission = await admitCall(gateway, call, reservationOf(inputTokens, bound));
  const meter = new CallMeter(gateway, call, admission && { admission });
  await meter.begin({ model, inputTokens });
  const answer = await meterWhole(meter, embeddings.embed(request, model, call), (made) => ({
    usage: { inputTokens, outputTokens: 0, estimated: true },
    charge: Math.max(inputTokens, made.inputTokens ?? 0),
  }));
  return {
    ...answer,
    model,
    inputTokens: answer.inputTokens ?? inputTokens,
    limits: admission?.status,
  };
}

/**
 * The estimate must remain. Because it is too low for most scripts other than Latin, the bound is reserved as far as
 * tokens remain, so that calls at the same time cannot exceed a limit. One call may, close to exhaustion.
 */
export function reservationOf(
  estimate: number,
  bound: number,
): { readonly inputTokens: number; readonly outputTokens: number } {
  const certain = Math.max(0, estimate - 1);
  return { inputTokens: certain, outputTokens: bound - certain };
}

/** The most tokens that an engine may count: no tokenizer makes more of a text than it has bytes, beside its marks. */
export function boundEmbeddingTokens(inputs: readonly EmbeddingInput[]): number {
  return inputs.reduce(
    (sum, input) =>
      sum + (typeof input === "string" ? Buffer.byteLength(input) : input.length) + MARK_TOKENS,
    0,
  );
}

/** Estimates the tokens of texts by their characters; inputs that are tokens are counted. */
export function estimateEmbeddingTokens(inputs: readonly EmbeddingInput[]): number {
  let characters = 0;
  let tokens = 0;
  for (const input of inputs) {
    if (typeof input === "string") characters += input.length;
    else tokens += input.length;
  }
  return tokens + estimateTokens(characters);
}
