import type { ChatRequest } from "../../core/chat-request.ts";
import type { ContextOverflow } from "../../core/context-overflow.ts";
import type { Model } from "../backend.ts";
import { estimateInputTokens } from "./estimate-input-tokens.ts";
import { contextLengthExceeded, outputRoom, withMaxOutputTokens } from "./fit-output.ts";

/** As long an answer as every model of a cloud gives. */
const SAFE_OUTPUT_TOKENS = 4_096;

/**
 * The request with the output limit that the engine's own numbers leave room for.
 * Throws `context_length_exceeded` when they leave none, or none that is smaller than what was asked.
 */
export function fitAfterOverflow(
  request: ChatRequest,
  model: Model,
  overflow: ContextOverflow,
): ChatRequest {
  const contextLength = overflow.contextLength ?? model.contextLength;
  const { promptTokens } = overflow;
  const asked = request.parameters.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  if (contextLength === undefined) {
    // Nothing is known but that prompt and answer are too long together.
    if (asked <= SAFE_OUTPUT_TOKENS) throw contextLengthExceeded(undefined, promptTokens);
    return withMaxOutputTokens(request, SAFE_OUTPUT_TOKENS);
  }
  const room = outputRoom(contextLength, promptTokens ?? estimateInputTokens(request));
  if (room >= asked) throw contextLengthExceeded(contextLength, promptTokens);
  return withMaxOutputTokens(request, room);
}
