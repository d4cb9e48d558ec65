import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { DriverFault, tooLarge } from "./session.ts";

/**
 * A connection as drivers see it: what the server sends is counted, and may be checked, before the driver reads it. A
 * driver collects a whole value in memory, so the limit has to apply here.
 */
export class CountedStream extends Duplex {
  readonly #socket: Socket;
  readonly #check: (chunk: Buffer) => void;
  #maxBytes = 0;
  #left = 0;

  /** @param check throws for what the driver must not see; the stream then ends with that error. */
  constructor(socket: Socket, check: (chunk: Buffer) => void = () => undefined) {
    super({ allowHalfOpen: false });
    this.#socket = socket;
    this.#check = check;
    socket.on("data", (chunk: Buffer) => this.#take(chunk));
    socket.on("end", () => this.push(null));
    socket.on("error", (error) => this.destroy(error));
    socket.on("close", () => this.destroy());
    // A driver may not listen yet, or not any more.
    this.on("error", () => undefined);
  }

  /** Allows this many bytes from now on. */
  allow(bytes: number): void {
    this.#maxBytes = bytes;
    this.#left = bytes;
  }

  /** The driver for PostgreSQL reads it before it says goodbye. */
  get readyState(): "open" | "closed" {
    return this.destroyed ? "closed" : "open";
  }

  #take(chunk: Buffer): void {
    if (this.destroyed) return;
    this.#left -= chunk.length;
    try {
      if (this.#left < 0) throw tooLarge(this.#maxBytes);
      this.#check(chunk);
    } catch (fault) {
      this.destroy(fault as Error);
      return;
    }
    if (!this.push(chunk)) this.#socket.pause();
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(
    chunk: Uint8Array,
    _encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    this.#socket.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#socket.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/** Rejects when the connection has ended. A driver may wait without end for a statement that comes after. */
export function endOf(stream: CountedStream): Promise<never> {
  const ended = new Promise<never>((_, reject) => {
    stream.once("error", reject);
    stream.once("close", () =>
      reject(new DriverFault("protocol", "The server closed the connection.")),
    );
  });
  ended.catch(() => undefined);
  return ended;
}
