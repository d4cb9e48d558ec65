import { estimateInputTokens } from "../backends/rules/estimate-input-tokens.ts";
import type { ChatRequest } from "../core/chat/chat-request.ts";
import { prepareRun } from "./assistant/prepare-run.ts";
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
  gateway: Pick<Gateway, "models" | "assistants" | "fallbacks">,
  { caller, signal }: Pick<ClientCall, "caller" | "signal">,
  asked: ChatRequest,
): Promise<TokenCount> {
  const target = await resolveTarget(gateway, caller, asked);
  const { backend, model, assistant } = target;
  // What is found for the question is not known before the call.
  const request =
    assistant === undefined || gateway.assistants === undefined
      ? asked
      : prepareRun(gateway.assistants, caller, target, asked).request;
  const options = { signal, passthrough: caller.passthrough };
  const counted = await backend.countTokens?.(request, model, options);
  return counted === undefined
    ? { inputTokens: estimateInputTokens(request), isEstimated: true }
    : { inputTokens: counted, isEstimated: false };
}
