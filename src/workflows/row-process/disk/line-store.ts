import { closeSync, openSync, readSync, unlinkSync, writeSync } from "node:fs";

const MEMORY_MAX_CHARACTERS = 64 * 1024 * 1024;
const BUFFER_BYTES = 1024 * 1024;

/** Lines by their number: in memory while they are few, the later ones in a temporary file. */
export class LineStore {
  readonly #path: string;
  readonly #held: string[] = [];
  #characters = 0;
  #file: number | undefined;
  #ends = new Float64Array(1_024);
  #stored = 0;
  #pending: Buffer[] = [];
  #pendingBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  get size(): number {
    return this.#held.length + this.#stored;
  }

  /** Returns the line's number, from 0. */
  append(line: string): number {
    if (this.#stored === 0 && this.#characters < MEMORY_MAX_CHARACTERS) {
      this.#characters += line.length;
      return this.#held.push(line) - 1;
    }
    const bytes = Buffer.from(line);
    if (this.#stored + 1 >= this.#ends.length) this.#grow();
    const start = this.#ends[this.#stored] ?? 0;
    this.#stored += 1;
    this.#ends[this.#stored] = start + bytes.length;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
    if (this.#pendingBytes > BUFFER_BYTES) this.#flush();
    return this.size - 1;
  }

  /** Returns a line that was appended. */
  at(number: number): string {
    const held = this.#held[number];
    if (held !== undefined) return held;
    this.#flush();
    const index = number - this.#held.length;
    const start = this.#ends[index] ?? 0;
    const length = (this.#ends[index + 1] ?? 0) - start;
    const bytes = Buffer.allocUnsafe(length);
    if (this.#file !== undefined) readSync(this.#file, bytes, 0, length, start);
    return bytes.toString("utf8");
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #flush(): void {
    if (this.#pendingBytes === 0) return;
    if (this.#file === undefined) {
      this.#file = openSync(this.#path, "w+");
      unlinkSync(this.#path);
    }
    const bytes = Buffer.concat(this.#pending);
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file, bytes, at);
    this.#pending = [];
    this.#pendingBytes = 0;
  }

  #grow(): void {
    const larger = new Float64Array(this.#ends.length * 2);
    larger.set(this.#ends);
    this.#ends = larger;
  }
}
