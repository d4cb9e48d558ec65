import type { FinishReason, RefusalDetails } from "../../../core/chat/chat-event.ts";
import { isJsonObject } from "../../../lib/json/json.ts";

/** Any other word is a natural end. */
const REASONS: ReadonlyMap<unknown, FinishReason> = new Map<string, FinishReason>([
  ["max_tokens", "length"],
  ["stop_sequence", "stop-sequence"],
  ["pause_turn", "paused"],
  ["refusal", "content-filter"],
  ["model_context_window_exceeded", "context-full"],
]);

/** Maps the vendor's word to a reason. An answer that ends naturally and has calls ends because of them. */
export function readStopReason(word: unknown, hasCalls: boolean): FinishReason {
  const reason = REASONS.get(word) ?? "stop";
  return hasCalls && reason === "stop" ? "tool-calls" : reason;
}

/** Reads `stop_details`; returns undefined for those of another end. */
export function readRefusal(details: unknown): RefusalDetails | undefined {
  if (!isJsonObject(details) || details["type"] !== "refusal") return undefined;
  const { category, explanation } = details;
  return {
    category: typeof category === "string" ? category : null,
    explanation: typeof explanation === "string" ? explanation : null,
  };
}
