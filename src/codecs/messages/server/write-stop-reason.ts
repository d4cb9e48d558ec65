import type { FinishReason } from "../../../core/chat-event.ts";

const WORDS = {
  stop: "end_turn",
  "stop-sequence": "stop_sequence",
  length: "max_tokens",
  "context-full": "model_context_window_exceeded",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
  paused: "pause_turn",
} as const satisfies Record<FinishReason, string>;

export type StopReason = (typeof WORDS)[FinishReason];

/** The format's word for a reason. An answer that refuses and ends naturally ends for the refusal. */
export function writeStopReason(reason: FinishReason, refuses: boolean): StopReason {
  return refuses && reason === "stop" ? "refusal" : WORDS[reason];
}
