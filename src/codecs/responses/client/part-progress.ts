/** How much of an item's parts has come; they come one after the other. */
export class PartProgress {
  #part = -1;
  #length = 0;

  get any(): boolean {
    return this.#part >= 0;
  }

  /** Turns to a part. True when another one came before it. */
  begins(part: number): boolean {
    if (part === this.#part) return false;
    const isFirst = !this.any;
    this.#part = part;
    this.#length = 0;
    return !isFirst;
  }

  add(length: number): void {
    this.#length += length;
  }

  /** What is missing of a part, given the whole of it. */
  missingOf(part: number, whole: string): string {
    if (part < this.#part) return "";
    return part === this.#part ? whole.slice(this.#length) : whole;
  }
}
