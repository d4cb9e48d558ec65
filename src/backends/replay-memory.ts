import type { ChatEvents } from "../core/chat-event.ts";
import type { ChatRequest, ReasoningPart } from "../core/chat-request.ts";
import type { Clock } from "../lib/clock.ts";
import { CollectSeals, type SealedCall } from "./collect-seals.ts";
import { restoreSeals } from "./restore-seals.ts";

/**
 * What vendors want back with the results of tool calls and what most clients' formats cannot carry: the seals on calls
 * and the sealed thoughts before them. It lives in this process alone and forgets what is old or too much; a vendor then
 * does without.
 */
export interface ReplayMemory {
  /** The same events; what they bring of seals is kept once the answer ends with calls. */
  readonly remember: (events: ChatEvents) => ChatEvents;
  /** The request with what it lacks; the very same one when it lacks nothing that is known. */
  readonly restore: (request: ChatRequest) => ChatRequest;
}

const MAX_CALLS = 20_000;
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** A client that comes back later than that begins anew without its thoughts. */
const TIME_TO_LIVE_MS = 24 * 60 * 60 * 1000;

interface Entry {
  readonly call: SealedCall;
  readonly characters: number;
  readonly expiresAt: number;
}

export function createReplayMemory(clock: Clock): ReplayMemory {
  // By the call's id, the one that was used last at the end.
  const entries = new Map<string, Entry>();
  let characters = 0;

  const forget = (callId: string) => {
    characters -= entries.get(callId)?.characters ?? 0;
    entries.delete(callId);
  };
  const keep = (entry: Entry) => {
    const { callId } = entry.call;
    forget(callId);
    entries.set(callId, entry);
    characters += entry.characters;
    for (const oldest of entries.keys()) {
      if (entries.size <= MAX_CALLS && characters <= MAX_CHARACTERS) break;
      forget(oldest);
    }
  };
  const find = (callId: string): SealedCall | undefined => {
    const entry = entries.get(callId);
    if (entry === undefined) return undefined;
    if (entry.expiresAt <= clock.now()) {
      forget(callId);
      return undefined;
    }
    entries.delete(callId);
    entries.set(callId, entry);
    return entry.call;
  };
  const keepAll = (calls: readonly SealedCall[]) => {
    const expiresAt = clock.now() + TIME_TO_LIVE_MS;
    for (const call of calls) keep({ call, characters: sizeOf(call), expiresAt });
  };

  return {
    remember: (events) => new CollectSeals(events, keepAll),
    restore: (request) => restoreSeals(request, find),
  };
}

function sizeOf({ callId, signature = "", reasoning }: SealedCall): number {
  return reasoning.reduce((sum, part) => sum + sizeOfPart(part), callId.length + signature.length);
}

function sizeOfPart({ text, signature = "", redacted = "" }: ReasoningPart): number {
  return text.length + signature.length + redacted.length;
}
