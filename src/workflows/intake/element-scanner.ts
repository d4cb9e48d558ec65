const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export interface SliceLimits {
  /** A slice ends with the element that reaches this. */
  readonly bytes: number;
  readonly elementBytes: number;
}

/**
 * Cuts the elements of a top-level JSON array into slices, by looking for its commas. It judges only what lies between
 * the elements; whether they are JSON is for a parser, which finds every fault that the cut leaves in a slice.
 */
export class ElementScanner {
  readonly #bytes: Uint8Array;
  #at = 0;
  #isFirst = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** What the body begins with. */
  start(): "object" | "array" | "scalar" | "end" {
    this.#skipSpaces();
    const first = this.#bytes[this.#at];
    if (first === undefined) return "end";
    if (first !== OPEN_BRACKET) return first === OPEN_BRACE ? "object" : "scalar";
    this.#at += 1;
    return "array";
  }

  /** The text of the next elements without the comma behind them; undefined after the end of the body. */
  take({ bytes, elementBytes }: SliceLimits): Uint8Array | "too large" | "broken" | undefined {
    this.#skipSpaces();
    if (this.#isFirst && this.#bytes[this.#at] === CLOSE_BRACKET) return this.#end();
    if (this.#at > this.#bytes.length) return undefined;
    this.#isFirst = false;
    const start = this.#at;
    for (;;) {
      const elementStart = this.#at;
      const separator = this.#skipElement(elementStart + elementBytes);
      if (typeof separator === "string") return separator;
      // An empty element is a fault, which a parser sees only between two others.
      if (isBlank(this.#bytes, elementStart, this.#at)) return "broken";
      const slice = this.#bytes.subarray(start, this.#at);
      if (separator === CLOSE_BRACKET) return this.#end() ?? slice;
      this.#at += 1;
      if (slice.length >= bytes) return slice;
    }
  }

  /** Stands before the closing bracket: nothing but white space may follow it. */
  #end(): "broken" | undefined {
    this.#at += 1;
    this.#skipSpaces();
    if (this.#at < this.#bytes.length) return "broken";
    this.#at = this.#bytes.length + 1;
    return undefined;
  }

  /** Advances to the comma or bracket behind an element. */
  #skipElement(limit: number): number | "too large" | "broken" {
    const bytes = this.#bytes;
    let depth = 0;
    for (let at = this.#at; at < bytes.length; at += 1) {
      const byte = bytes[at] ?? 0;
      if (depth === 0 && (byte === COMMA || byte === CLOSE_BRACKET)) {
        this.#at = at;
        return byte;
      }
      if (byte === QUOTE) at = endOfString(bytes, at);
      depth += depthOf(byte);
      if (depth < 0) return "broken";
      if (at >= limit) return "too large";
    }
    return "broken";
  }

  #skipSpaces(): void {
    while (isSpace(this.#bytes[this.#at])) this.#at += 1;
  }
}

function depthOf(byte: number): number {
  if (byte === OPEN_BRACE || byte === OPEN_BRACKET) return 1;
  return byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? -1 : 0;
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isBlank(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (!isSpace(bytes[at])) return false;
  return true;
}

/** Returns the index of the quote that closes the string opened at `start`, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let at = start;
  for (;;) {
    at = bytes.indexOf(QUOTE, at + 1);
    if (at < 0) return bytes.length;
    let backslashes = 0;
    while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
}
