import type { Duplex } from "node:stream";
import { ClientGone } from "./connection-refusal.ts";

/** Nothing of a start is longer; a client that sends more waits in the kernel. */
const HELD_BYTES = 65_536;

/** Reads the bytes of a client's start in the sizes that its packets have. */
export class StartReader {
  readonly #stream: Duplex;
  #held = Buffer.alloc(0);
  #isOver = false;
  #wake: () => void = () => undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on("data", this.#take);
    for (const event of ["end", "close", "error"]) stream.on(event, this.#end);
  }

  /** Bytes that were received and not read. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /** Resolves with exactly so many bytes; rejects with ClientGone. One read at a time. */
  async read(count: number): Promise<Buffer> {
    const bytes = await this.peek(count);
    this.#held = this.#held.subarray(count);
    if (this.#held.length < HELD_BYTES) this.#stream.resume();
    return bytes;
  }

  /** As `read`, but the bytes stay unread. */
  async peek(count: number): Promise<Buffer> {
    while (this.#held.length < count) {
      if (this.#isOver) throw new ClientGone("the client has left");
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    return this.#held.subarray(0, count);
  }

  /** Stops reading, pauses the stream and returns what was not read. */
  detach(): Buffer {
    this.#stream.pause();
    this.#stream.off("data", this.#take);
    for (const event of ["end", "close", "error"]) this.#stream.off(event, this.#end);
    const held = this.#held;
    this.#held = Buffer.alloc(0);
    return held;
  }

  readonly #take = (bytes: Buffer): void => {
    this.#held = this.#held.length === 0 ? Buffer.from(bytes) : Buffer.concat([this.#held, bytes]);
    if (this.#held.length >= HELD_BYTES) this.#stream.pause();
    this.#wake();
  };

  readonly #end = (): void => {
    this.#isOver = true;
    this.#wake();
  };
}
