import type { ChatEvent, SignatureEvent, Usage } from "../core/chat-event.ts";
import { chargeTokens, estimateTokens } from "../core/estimate-tokens.ts";
import type { Reserved } from "./grant.ts";

/** What a call has brought so far, counted while it passes. */
export interface Tally {
  readonly observe: (events: readonly ChatEvent[]) => void;
  /** Output tokens so far, by estimate. */
  readonly outputTokensSoFar: () => number;
  /** The vendor's figures, as far as it has told them; where one is ours, it is marked as estimated. */
  readonly usage: () => Usage;
  /** Input and output tokens that limits are charged: of an answer that did not end, no fewer than its bytes say. */
  readonly charge: () => number;
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
  let bytes = 0;
  /** Of the reasoning block that is open. */
  let reasoningBytes = 0;
  let toldInputTokens: number | undefined;
  let end: Extract<ChatEvent, { type: "finish" | "error" }> | undefined;

  const count = (text: string): void => {
    characters += text.length;
    bytes += Buffer.byteLength(text);
  };
  const usage = (): Usage => {
    if (end?.type === "finish" && end.usage !== undefined) return end.usage;
    return {
      inputTokens: toldInputTokens ?? Math.min(inputTokens, reserved.inputTokens),
      outputTokens: Math.min(estimateTokens(characters), reserved.outputTokens),
      estimated: true,
    };
  };

  return {
    observe(events) {
      for (const event of events) {
        switch (event.type) {
          case "start":
            // No prompt has 0 tokens: a server that says so has not counted them yet.
            toldInputTokens = event.inputTokens || undefined;
            break;
          case "block-start":
            reasoningBytes = 0;
            break;
          case "reasoning-delta":
            reasoningBytes += Buffer.byteLength(event.text);
            count(event.text);
            break;
          case "text-delta":
          case "refusal-delta":
            count(event.text);
            break;
          case "tool-call-delta":
            count(event.arguments);
            break;
          case "signature":
            // What was reasoned and is not shown comes encrypted, and that is about as long.
            bytes += Math.max(0, sealBytes(event) - reasoningBytes);
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
    usage,
    charge() {
      const told = usage();
      if (end?.type === "finish") return told.inputTokens + told.outputTokens;
      const charged = Math.min(chargeTokens(bytes), reserved.outputTokens);
      return told.inputTokens + Math.max(told.outputTokens, charged);
    },
    end: () => end,
  };
}

function sealBytes({ signature, redacted }: SignatureEvent): number {
  return (signature?.length ?? 0) + (redacted?.length ?? 0);
}
