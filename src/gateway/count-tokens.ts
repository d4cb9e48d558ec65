import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import { refuseBoundKey } from "./admit.ts";
import type { ClientCall, Gateway } from "./gateway.ts";
import { resolveTarget } from "./resolve-target.ts";

export interface TokenCount {
  /** Tokens of the whole prompt, including tools. */
  readonly inputTokens: number;
  /** True when the model's server has no tokenizer endpoint. */
  readonly isEstimated: boolean;
}

/**
 * Counts the prompt's tokens with the tokenizer of the model that would answer. Nothing is metered. Throws a
 * `ServiceError`.
 */
export async function countTokens(
  { models }: Pick<Gateway, "models">,
  { caller, signal }: Pick<ClientCall, "caller" | "signal">,
  request: ChatRequest,
): Promise<TokenCount> {
  refuseBoundKey(caller);
  const { backend, model } = await resolveTarget(models, request);
  const options = { signal, passthrough: caller.passthrough };
  const counted = await backend.countTokens?.(request, model, options);
  return counted === undefined
    ? { inputTokens: estimateInputTokens(request), isEstimated: true }
    : { inputTokens: counted, isEstimated: false };
}
