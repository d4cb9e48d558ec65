const LAST_CHUNK = Buffer.from("0\r\n\r\n");
const CHUNK_END = Buffer.from("\r\n");

/** Sends a body with chunked transfer coding while it arrives, as fast as the receiver accepts it. */
export class ChunkedUpload {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #isStopped = false;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /** @param write resolves when more may be written. Rejects with the error that broke the body. */
  async send(write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      const { done, value } = await this.#iterator.next();
      if (this.#isStopped) return;
      if (done === true) {
        await write(LAST_CHUNK);
        return;
      }
      // An empty chunk would end the body.
      if (value.length > 0) await write(chunkOf(value));
    }
  }

  /** Stops the upload. The source is ended immediately, although one more piece may still be requested. */
  stop(): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    // The result of ending the source is irrelevant.
    this.#iterator.return?.().catch(() => undefined);
  }
}

function chunkOf(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, CHUNK_END]);
}
