import type { FinishReason } from "../../../core/chat-event.ts";

/** Any other word is a natural end. */
const REASONS: ReadonlyMap<unknown, FinishReason> = new Map<string, FinishReason>([
  ["max_tokens", "length"],
  ["stop_sequence", "stop-sequence"],
  ["pause_turn", "paused"],
  ["refusal", "content-filter"],
  ["model_context_window_exceeded", "context-full"],
]);

/** The reason behind the vendor's word. An answer that ends naturally with calls ends for them. */
export function readStopReason(word: unknown, hasCalls: boolean): FinishReason {
  const reason = REASONS.get(word) ?? "stop";
  return hasCalls && reason === "stop" ? "tool-calls" : reason;
}
