/** Keeps the beginning and the end of an output, in bounded memory. */
export class BoundedOutput {
  readonly #half: number;
  #head = Buffer.alloc(0);
  #tail = Buffer.alloc(0);
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#half = Math.floor(maxBytes / 2);
  }

  /** All bytes so far. */
  get bytes(): number {
    return this.#bytes;
  }

  add(chunk: Buffer): void {
    this.#bytes += chunk.length;
    const room = this.#half - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, room)]);
    const rest = room > 0 ? chunk.subarray(room) : chunk;
    if (rest.length > 0) {
      this.#tail = Buffer.from(Buffer.concat([this.#tail, rest]).subarray(-this.#half));
    }
  }

  /** The output, with a note where something was left out. */
  text(): string {
    const left = this.#bytes - this.#head.length - this.#tail.length;
    if (left === 0) return decoded(Buffer.concat([this.#head, this.#tail]));
    return `${decoded(this.#head)}\n[${left} bytes were left out here.]\n${decoded(this.#tail)}`;
  }
}

/** Some clients of models cannot receive U+0000. */
function decoded(bytes: Buffer): string {
  return bytes.toString().replaceAll("\0", "\ufffd");
}
