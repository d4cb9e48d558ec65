import type { Settings } from "../config/settings.ts";
import type { Caller } from "../core/caller.ts";
import type { CallerMemory } from "../core/caller-memory.ts";
import { ServiceError } from "../core/service-error.ts";
import { BoundedMemory } from "../lib/bounded-memory.ts";
import type { Clock } from "../lib/clock.ts";

/**
 * What clients may refer to in later calls. It lives only in this process: nothing is written, a restart or another
 * replica knows nothing of it. A key reads only what the same key was answered, a session only what its user was.
 */
export interface AnswerMemory {
  /** @returns a view for one call, which counts what that call reads. */
  readonly of: (caller: Caller) => CallerMemory;
}

export interface AnswerGateway {
  /** Undefined when nothing is remembered. */
  readonly answers: AnswerMemory | undefined;
}

interface Options {
  /** Of all callers together. */
  readonly maxBytes: number;
  /** Of what one call may read. */
  readonly maxBytesPerCall: number;
}

interface Kept {
  readonly owner: string;
  readonly texts: readonly Uint8Array[];
  readonly bytes: number;
}

const TIME_TO_LIVE_MS = 60 * 60 * 1000;
/** What an entry costs beside its texts: many small ones must not take more than is allowed. */
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
          // What another caller kept must not live longer because it was asked for.
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
