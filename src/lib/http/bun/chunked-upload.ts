const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const CHUNK_END = Buffer.from("\r\n");

/** A body that is sent while it arrives, in chunks, as fast as the other side takes them. */
export class ChunkedUpload {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #isStopped = false;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /** @param write resolves when more may be written. Rejects with what broke the body. */
  async send(write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      const { done, value } = await this.#iterator.next();
      if (this.#isStopped) return;
      if (done === true) {
        await write(LAST_CHUNK);
        return;
      }
      // An empty chunk would be the last.
      if (value.length > 0) await write(chunkOf(value));
    }
  }

  /** Nobody takes the rest: its source is told at once, though it may still be asked for a piece. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    // How the source ends does not matter any more.
    this.#iterator.return?.().catch(() => undefined);
  }
}

function chunkOf(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CHUNK_END]);
}
