import type { Target } from "../backends/models/model-catalog.ts";
import type { ChatRequest } from "../core/chat-request.ts";
import type { Admission } from "../limits/limits.ts";
import { boundInputTokens } from "./fit/bound-input-tokens.ts";

/** The admission of a call of a key with limits. */
export interface Grant {
  readonly admission: Admission;
  /** What the call cannot exceed, and cannot have used more of; undefined where nothing holds it to that. */
  readonly reserved?: Reserved | undefined;
}

export interface Reserved {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/**
 * Whether a model can answer a chat call with what is reserved. One that is asked in another's place may count the
 * prompt otherwise than the one which was asked to count it, and may want room for a longer answer.
 */
export function covers(
  { reserved }: Grant,
  request: ChatRequest,
  { backend, model }: Target,
): boolean {
  if (reserved === undefined) return true;
  const { text, fields, media } = boundInputTokens(request);
  const inputTokens = Math.min(text + fields + media, model.contextLength ?? Infinity);
  const least = backend.leastOutputTokens?.(model) ?? 1;
  return inputTokens <= reserved.inputTokens && least <= reserved.outputTokens;
}
