import type { Settings } from "../config/settings.ts";
import type { Caller } from "../core/callers/caller.ts";
import type { CallerMemory } from "../core/callers/caller-memory.ts";
import { ServiceError } from "../core/service-error.ts";
import { BoundedMemory } from "../lib/bounded-memory.ts";
import type { Clock } from "../lib/time/clock.ts";

/**
 * Answers that clients may refer to in later calls. It exists only in this process: nothing is written, and a restart
 * or another replica loses it. A key reads only its own answers, a session only those of its user.
 */
export interface AnswerMemory {
  /** Returns a view for one call, which counts the bytes that the call recalls. */
  readonly of: (caller: Caller) => CallerMemory;
}

export interface AnswerGateway {
  /** Undefined when answers are not remembered. */
  readonly answers: AnswerMemory | undefined;
}

interface Options {
  /** The limit for all callers together. */
  readonly maxBytes: number;
  /** The limit for the texts that one call recalls. */
  readonly maxBytesPerCall: number;
}

interface Kept {
  readonly owner: string;
  readonly texts: readonly Uint8Array[];
}

const TIME_TO_LIVE_MS = 60 * 60 * 1000;
/** The cost of an entry in addition to its texts, so that many small entries cannot exceed the limit. */
const ENTRY_BYTES = 1_024;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function openAnswerMemory(
  settings: Pick<Settings, "RESPONSES_MEMORY_MB" | "GATEWAY_MAX_BODY_BYTES">,
  clock: Clock,
): AnswerMemory | undefined {
  const maxBytes = settings.RESPONSES_MEMORY_MB * 1024 * 1024;
  if (maxBytes === 0) return undefined;
  return createAnswerMemory(clock, { maxBytes, maxBytesPerCall: settings.GATEWAY_MAX_BODY_BYTES });
}

export function createAnswerMemory(clock: Clock, options: Options): AnswerMemory {
  const { maxBytes, maxBytesPerCall } = options;
  const answers = new BoundedMemory<Kept>(clock, {
    maxSize: maxBytes,
    maxEntries: Math.ceil(maxBytes / ENTRY_BYTES),
    timeToLiveMs: TIME_TO_LIVE_MS,
  });
  return {
    of(caller) {
      const owner = ownerOf(caller);
      let bytesRecalled = 0;
      // A request by another caller must not prolong the life of an entry.
      const isOwn = (requestId: string) => answers.peek(requestId)?.owner === owner;
      const textsOf = (requestId: string) =>
        isOwn(requestId) ? answers.get(requestId)?.texts : undefined;
      return {
        find: (requestId) => textsOf(requestId)?.map(decoded),
        recall(requestId, count) {
          const texts = textsOf(requestId)?.slice(0, count);
          if (texts === undefined) return undefined;
          bytesRecalled += sizeOf(texts);
          if (bytesRecalled > maxBytesPerCall) throw tooMuch(maxBytesPerCall);
          return texts.map(decoded);
        },
        keep(requestId, texts) {
          const encoded = texts.map((text) => encoder.encode(text));
          answers.set(requestId, { owner, texts: encoded }, ENTRY_BYTES + sizeOf(encoded));
        },
        forget(requestId) {
          if (!isOwn(requestId)) return false;
          answers.delete(requestId);
          return true;
        },
      };
    },
  };
}

function decoded(text: Uint8Array): string {
  return decoder.decode(text);
}

function sizeOf(texts: readonly Uint8Array[]): number {
  return texts.reduce((sum, { byteLength }) => sum + byteLength, 0);
}

function ownerOf(caller: Caller): string {
  return caller.kind === "key" ? `key ${caller.keyId}` : `user ${caller.ownerId}`;
}

function tooMuch(maxBytes: number): ServiceError {
  return new ServiceError(
    "request_too_large",
    `The conversation that the request refers to has more than ${maxBytes} bytes, the most a request may have. Begin a new one.`,
  );
}
