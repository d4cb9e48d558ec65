/** What summary and notes of a result may take. */
const SUMMARY_BYTES = 1_024;

/** The lines of a result, bounded in number and bytes. */
export class ResultLines {
  readonly lines: string[] = [];
  readonly #limit: number;
  #leftBytes: number;
  #isCut = false;

  constructor(limit: number, maxBytes: number) {
    this.#limit = limit;
    this.#leftBytes = Math.max(0, maxBytes - SUMMARY_BYTES);
  }

  get count(): number {
    return this.lines.length;
  }

  /** A line did not fit. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** Returns false when the line does not fit any more. */
  add(line: string): boolean {
    this.#leftBytes -= Buffer.byteLength(line) + 1;
    this.#isCut ||= this.count === this.#limit || (this.#leftBytes < 0 && this.count > 0);
    if (!this.#isCut) this.lines.push(line);
    return !this.#isCut;
  }
}
