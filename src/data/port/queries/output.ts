const START_BYTES = 64 * 1024;

/** Bytes of an answer that wait for its reader. */
export class Output {
  #bytes = Buffer.allocUnsafeSlow(START_BYTES);
  #end = 0;
  #taken = 0;

  /** Bytes that wait. */
  get length(): number {
    return this.#end;
  }

  /** Bytes of the whole answer so far. */
  get total(): number {
    return this.#taken + this.#end;
  }

  /** Returns what waits. The caller owns it. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#end);
    this.#taken += this.#end;
    this.#bytes = Buffer.allocUnsafeSlow(START_BYTES);
    this.#end = 0;
    return taken;
  }

  /** Drops what waits. */
  clear(): void {
    this.#end = 0;
  }

  /** Adds one byte. */
  byte(byte: number): void {
    if (this.#end === this.#bytes.length) this.#grow(1);
    this.#bytes[this.#end] = byte;
    this.#end += 1;
  }

  text(text: string): void {
    this.#grow(text.length * 3);
    this.#end += this.#bytes.write(text, this.#end);
  }

  /** Adds bytes of another buffer. */
  copy(from: Buffer, start: number, end: number): void {
    const count = end - start;
    this.#grow(count);
    if (count < SHORT) {
      // A call of the runtime costs more than a few bytes.
      let at = this.#end;
      for (let index = start; index < end; index += 1) this.#bytes[at++] = from[index] as number;
      this.#end = at;
      return;
    }
    from.copy(this.#bytes, this.#end, start, end);
    this.#end += count;
  }

  #grow(count: number): void {
    const needed = this.#end + count;
    if (needed <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}

const SHORT = 32;
