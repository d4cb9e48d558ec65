import type { ChatEvents } from "../../core/chat-event.ts";
import type { ChatRequest, ReasoningPart } from "../../core/chat-request.ts";
import { BoundedMemory } from "../../lib/bounded-memory.ts";
import type { Clock } from "../../lib/clock.ts";
import { CollectSeals, type SealedCall } from "./collect-seals.ts";
import { restoreSeals } from "./restore-seals.ts";
import { nameOfText, restoreTextSeals } from "./text-seals.ts";

/**
 * What vendors want back and what most clients' formats cannot carry: the seals on calls, the sealed thoughts before
 * them, and the seals on texts. It lives in this process alone and forgets what is old or too much; a vendor then
 * does without.
 */
export interface ReplayMemory {
  /**
   * The same events; what they bring of seals on calls is kept once the answer ends with calls.
   * @param asked what is answered, where the vendor seals texts too.
   */
  readonly remember: (events: ChatEvents, asked?: ChatRequest) => ChatEvents;
  /**
   * The request with what it lacks; the very same one when it lacks nothing that is known.
   * @param sealsTexts the vendor seals texts too.
   */
  readonly restore: (request: ChatRequest, sealsTexts?: boolean) => ChatRequest;
}

const MAX_CALLS = 20_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** A client that comes back later than that goes on without its thoughts. */
const TIME_TO_LIVE_MS = 24 * 60 * 60 * 1000;

export function createReplayMemory(clock: Clock): ReplayMemory {
  // By the call's id or the text's name.
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
      // Until a text was sealed no conversation needs to be hashed.
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
