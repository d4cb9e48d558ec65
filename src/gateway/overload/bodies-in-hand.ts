import { ServiceError } from "../../core/service-error.ts";

/** A body above this size counts as large. Large bodies together leave an eighth of the room to all others. */
const LARGE_BYTES = 1024 * 1024;
const LARGE_SHARE = 7 / 8;
/** Recordings are held during their transcription, so all of them together leave half of the room. */
const RECORDINGS_SHARE = 1 / 2;
const RETRY_AFTER_SECONDS = 2;

export type BodyKind = "text" | "recording";

/**
 * The budget of bytes for the bodies of all calls, from their first byte until the engine has them. Each body costs the
 * process several times its length: as bytes, as text, parsed, and as the outgoing request.
 */
export class BodiesInHand {
  readonly #limitBytes: number;
  #bytes = 0;
  #recordingBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  /** The bytes of all bodies together. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Counts the bytes that a body has or will have. Throws `overloaded` when there is no room for them. An empty budget
   * accepts a single body of any size, so that no body is refused forever.
   *
   * @param held is the part of the body that is already counted.
   */
  grow(held: number, bytes: number, kind: BodyKind = "text"): void {
    const others = this.#bytes - held;
    const room = bytes > LARGE_BYTES ? this.#limitBytes * LARGE_SHARE : this.#limitBytes;
    if (others > 0 && others + bytes > room) throw noRoom();
    if (kind === "recording") {
      const recordings = this.#recordingBytes - held;
      if (recordings > 0 && recordings + bytes > this.#limitBytes * RECORDINGS_SHARE)
        throw noRoom();
      this.#recordingBytes += bytes - held;
    }
    this.#bytes += bytes - held;
  }

  giveBack(bytes: number, kind: BodyKind = "text"): void {
    this.#bytes -= bytes;
    if (kind === "recording") this.#recordingBytes -= bytes;
  }
}

function noRoom(): ServiceError {
  return new ServiceError(
    "overloaded",
    "The gateway's memory for request bodies is in use; send the request again. " +
      "The operator sets BODIES_IN_HAND_MB.",
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
