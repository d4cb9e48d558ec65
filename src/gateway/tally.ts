import type { ChatEvent, Usage } from "../core/chat-event.ts";
import { estimateTokens } from "../core/estimate-tokens.ts";
import type { Reserved } from "./grant.ts";

/** What a call has brought so far, counted while it passes. */
export interface Tally {
  readonly observe: (events: readonly ChatEvent[]) => void;
  /** Output tokens so far, by estimate. */
  readonly outputTokensSoFar: () => number;
  /** The vendor's figures, as far as it has told them; where one is ours, it is marked as estimated. */
  readonly usage: () => Usage;
  /** The event that ended the stream, when it came. */
  readonly end: () => Extract<ChatEvent, { type: "finish" | "error" }> | undefined;
}

const BOUNDLESS: Reserved = { inputTokens: Infinity, outputTokens: Infinity };

/**
 * @param inputTokens estimate of the prompt, for a vendor that never tells.
 * @param reserved what an estimate cannot exceed, because the call could not.
 */
export function createTally(inputTokens: number, reserved: Reserved = BOUNDLESS): Tally {
  let characters = 0;
  let toldInputTokens: number | undefined;
  let end: Extract<ChatEvent, { type: "finish" | "error" }> | undefined;

  return {
    observe(events) {
      for (const event of events) {
        switch (event.type) {
          case "start":
            // No prompt has 0 tokens: a server that says so has not counted them yet.
            toldInputTokens = event.inputTokens || undefined;
            break;
          case "text-delta":
          case "reasoning-delta":
          case "refusal-delta":
            characters += event.text.length;
            break;
          case "tool-call-delta":
            characters += event.arguments.length;
            break;
          case "finish":
          case "error":
            end = event;
            break;
          default:
            break;
        }
      }
    },
    outputTokensSoFar: () => estimateTokens(characters),
    usage() {
      if (end?.type === "finish" && end.usage !== undefined) return end.usage;
      return {
        inputTokens: toldInputTokens ?? Math.min(inputTokens, reserved.inputTokens),
        outputTokens: Math.min(estimateTokens(characters), reserved.outputTokens),
        estimated: true,
      };
    },
    end: () => end,
  };
}
