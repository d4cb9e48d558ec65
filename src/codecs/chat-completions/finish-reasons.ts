import type { FinishReason } from "../../core/chat/chat-event.ts";

const CHAT_WORDS = {
  stop: "stop",
  "stop-sequence": "stop",
  length: "length",
  "context-full": "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  paused: "stop",
} as const satisfies Record<FinishReason, string>;

/** The words of all vendors of this format. Any other word is a natural end. */
const READ_WORDS: ReadonlyMap<string, FinishReason> = new Map([
  ["length", "length"],
  ["max_tokens", "length"],
  ["model_length", "context-full"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["content_filter", "content-filter"],
]);

/** Words for an answer that the engine aborted. */
const FAILURES: ReadonlySet<string> = new Set(["error", "abort", "insufficient_system_resource"]);

/** Returns the chat format's word for a reason. */
export function writeFinishReason(reason: FinishReason): string {
  return CHAT_WORDS[reason];
}

/** Maps a vendor's word to a reason; `failure` means that the engine aborted the answer. */
export function readFinishReason(word: string): FinishReason | "failure" {
  return FAILURES.has(word) ? "failure" : (READ_WORDS.get(word) ?? "stop");
}

/** True when a limit ended the answer: a call may be without the arguments that the model meant. */
export function isCut(reason: FinishReason): boolean {
  return reason === "length" || reason === "context-full";
}
