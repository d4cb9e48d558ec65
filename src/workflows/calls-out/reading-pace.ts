import { setImmediate as nextTurn } from "node:timers/promises";
import { pagesTooLarge } from "./answer-failures.ts";

/** Bytes of work between two pauses, in which others are served: a few milliseconds. */
const TURN_BYTES = 256 * 1024;

/** Bounds what one step reads, over all its pages, and lets others go on meanwhile. */
export class ReadingPace {
  readonly #signal: AbortSignal;
  readonly #maxBytes: number;
  #bytesRead = 0;
  #sincePause = 0;

  /** @param maxBytes of all bodies together. */
  constructor(signal: AbortSignal, maxBytes: number) {
    this.#signal = signal;
    this.#maxBytes = maxBytes;
  }

  /** Called after each piece of work. Pauses when it is time to, and rejects with the signal's reason. */
  async worked(bytes: number): Promise<void> {
    this.#sincePause += bytes;
    if (this.#sincePause < TURN_BYTES) return;
    this.#sincePause = 0;
    await nextTurn();
    this.#signal.throwIfAborted();
  }

  /** Passes on the pieces of a body. Throws a `StepFailure` when all bodies together are too large. */
  async *pieces(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of body) {
      this.#bytesRead += piece.length;
      if (this.#bytesRead > this.#maxBytes) throw pagesTooLarge(this.#maxBytes);
      yield piece;
      await this.worked(piece.length);
    }
  }
}
