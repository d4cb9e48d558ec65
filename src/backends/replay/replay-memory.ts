import type { ChatEvents } from "../../core/chat/chat-event.ts";
import type { ChatRequest, ReasoningPart } from "../../core/chat/chat-request.ts";
import { BoundedMemory } from "../../lib/bounded-memory.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { CollectSeals, type SealedCall } from "./collect-seals.ts";
import { restoreSeals } from "./restore-seals.ts";
import { nameOfText, restoreTextSeals } from "./text-seals.ts";

/**
 * Keeps what vendors require back and most clients' formats cannot carry: seals on calls, the sealed reasoning before
 * them, and seals on texts. It exists only in this process and drops old or surplus entries; the vendor then works
 * without them.
 */
export interface ReplayMemory {
  /**
   * Passes the events through and keeps their seals on calls when the answer ends with tool calls.
   * @param asked the answered request, where the vendor seals texts too.
   */
  readonly remember: (events: ChatEvents, asked?: ChatRequest) => ChatEvents;
  /**
   * Returns the request with its missing seals added; the same object when none is known.
   * @param sealsTexts the vendor seals texts too.
   */
  readonly restore: (request: ChatRequest, sealsTexts?: boolean) => ChatRequest;
}

const MAX_CALLS = 20_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** A client that returns later continues without its reasoning. */
const TIME_TO_LIVE_MS = 24 * 60 * 60 * 1000;

export function createReplayMemory(clock: Clock): ReplayMemory {
  // Keyed by the call's id or the text's name.
  const calls = new BoundedMemory<SealedCall>(clock, {
    maxSize: MAX_CHARACTERS,
    maxEntries: MAX_CALLS,
    timeToLiveMs: TIME_TO_LIVE_MS,
  });
  let areTextsKept = false;
  const find = (callId: string) => calls.get(callId);
  const keepCalls = (kept: readonly SealedCall[]) => {
    for (const call of kept) calls.set(call.callId, call, sizeOf(call));
  };
  const keeperOfText =
    ({ messages }: ChatRequest) =>
    (text: string, signature: string) => {
      areTextsKept = true;
      keepCalls([{ callId: nameOfText(messages, text), signature, reasoning: [] }]);
    };

  return {
    remember: (events, asked) =>
      new CollectSeals(events, { keepCalls, keepText: asked && keeperOfText(asked) }),
    restore(request, sealsTexts = false) {
      const restored = restoreSeals(request, find);
      // While no text has been sealed, no conversation needs to be hashed.
      if (!sealsTexts || !areTextsKept) return restored;
      return restoreTextSeals(restored, (name) => find(name)?.signature);
    },
  };
}

function sizeOf({ callId, signature = "", reasoning }: SealedCall): number {
  return reasoning.reduce((sum, part) => sum + sizeOfPart(part), callId.length + signature.length);
}

function sizeOfPart({ text, signature = "", redacted = "" }: ReasoningPart): number {
  return text.length + signature.length + redacted.length;
}
