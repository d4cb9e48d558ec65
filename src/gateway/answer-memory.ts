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
  /** Returns a view for one call, which counts the bytes that the call reads. */
  readonly of: (caller: Caller) => CallerMemory;
}

export interface AnswerGateway {
  /** Undefined when answers are not remembered. */
  readonly answers: AnswerMemory | undefined;
}

interface Options {
  /** The limit for all callers together. */
  readonly maxBytes: number;
  /** The limit for the entries that one call reads. */
  readonly maxBytesPerCall: number;
}

interface Kept {
  readonly owner: string;
  readonly texts: readonly Uint8Array[];
  readonly bytes: number;
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
      let bytesRead = 0;
      return {
        find(requestId) {
          // A request by another caller must not prolong the life of an entry.
          const kept =
            answers.peek(requestId)?.owner === owner ? answers.get(requestId) : undefined;
          if (kept === undefined) return undefined;
          bytesRead += kept.bytes;
          if (bytesRead > maxBytesPerCall) throw tooMuch(maxBytesPerCall);
          return kept.texts.map((text) => decoder.decode(text));
        },
        keep(requestId, texts) {
          const encoded = texts.map((text) => encoder.encode(text));
          const bytes = encoded.reduce((sum, { byteLength }) => sum + byteLength, ENTRY_BYTES);
          answers.set(requestId, { owner, texts: encoded, bytes }, bytes);
        },
        forget(requestId) {
          if (answers.peek(requestId)?.owner === owner) answers.delete(requestId);
        },
      };
    },
  };
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
