import { BackupError } from "../backup-error.ts";

/** Cuts a stream into the lengths that are asked for. Throws a BackupError with the text given when the stream ends before. */
export class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #endText: string;
  #rest: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Buffer>, endText: string) {
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#endText = endText;
  }

  async read(bytes: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(bytes)) parts.push(part);
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts);
  }

  async *stream(bytes: number): AsyncGenerator<Buffer> {
    let left = bytes;
    while (left > 0) {
      if (this.#rest.length === 0 && !(await this.#fill())) throw new BackupError(this.#endText);
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  /** Passes over everything up to the stream's own end. */
  async finish(): Promise<void> {
    while (await this.#fill());
  }

  /** Lets go of the stream. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  async #fill(): Promise<boolean> {
    const { value, done } = await this.#chunks.next();
    if (done === true) return false;
    this.#rest = value;
    return true;
  }
}
