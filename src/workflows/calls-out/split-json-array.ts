import { MAX_ROW_BYTES } from "../rows/row.ts";
import { noJson, rowTooLarge, surroundingsTooLarge, tooDeep } from "./answer-failures.ts";
import type { ReadingPace } from "./reading-pace.ts";

/** Characters that are scanned at once. */
const SLICE = 64 * 1024;
/** Characters of a name that may be part of a path, each written as an escape. */
const MAX_NAME = 6 * 500 + 2;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

interface Container {
  readonly isArray: boolean;
  /** The member that is being read, in an object. */
  key: string | undefined;
}

export interface SplitJson {
  /** The text with an empty array in the place of the split one, to be parsed by itself. */
  readonly outer: string;
  readonly isFound: boolean;
}

export interface Splitting {
  /** The members that lead to the array; empty for the text itself. */
  readonly path: readonly string[];
  readonly maxDepth: number;
  readonly pace: ReadingPace;
}

/**
 * Splits the array at a path of a JSON text into its elements, in pieces small enough that nothing else waits. A parser
 * would read all of a large text at once. What is no valid JSON is found when the parts are parsed. Rejects with a
 * `StepFailure` for an element or surroundings that are longer than a row, and for a text that nests too deeply.
 *
 * @param onElement takes the text of an element.
 */
export async function splitJsonArray(
  text: string,
  splitting: Splitting,
  onElement: (element: string) => Promise<void>,
): Promise<SplitJson> {
  const splitter = new Splitter(text, splitting);
  let index = 0;
  while (index < text.length) {
    const end = Math.min(index + SLICE, text.length);
    for (index = nextMark(text, index, end); index < end; index = nextMark(text, index + 1, end)) {
      if (text.charCodeAt(index) === QUOTE) {
        index = splitter.skipString(index);
        continue;
      }
      const element = splitter.mark(index);
      if (element !== undefined) await onElement(element);
      if (splitter.outer !== undefined) return { outer: splitter.outer, isFound: true };
    }
    splitter.checkLength(index);
    await splitting.pace.worked(SLICE);
  }
  if (splitter.isInArray) throw noJson("its answer");
  return { outer: text, isFound: false };
}

class Splitter {
  readonly #text: string;
  readonly #path: readonly string[];
  readonly #maxDepth: number;
  readonly #stack: Container[] = [];
  #lastString = "";
  /** Where the array begins; -1 before it. */
  #arrayAt = -1;
  #elementAt = -1;
  #elements = 0;
  /** Set at the end of the array. */
  outer: string | undefined;

  constructor(text: string, { path, maxDepth }: Splitting) {
    this.#text = text;
    this.#path = path;
    this.#maxDepth = maxDepth;
  }

  get isInArray(): boolean {
    return this.#arrayAt >= 0;
  }

  /** Refuses an element, or what stands before the array, that cannot be a row. */
  checkLength(index: number): void {
    if (!this.isInArray && index > MAX_ROW_BYTES) throw surroundingsTooLarge();
    if (this.isInArray && index - this.#elementAt > MAX_ROW_BYTES) {
      throw rowTooLarge(`row ${this.#elements + 1} of the answer`);
    }
  }

  /** Returns where the string ends. */
  skipString(start: number): number {
    const end = endOfString(this.#text, start);
    this.checkLength(end);
    if (!this.isInArray) this.#lastString = this.#text.slice(start, end + 1);
    return end;
  }

  /** Takes a bracket, colon or comma. Returns the element that it ends. */
  mark(index: number): string | undefined {
    this.checkLength(index);
    switch (this.#text[index]) {
      case ":":
        this.#name();
        return undefined;
      case ",":
        return this.#isIn ? this.#endElement(index) : undefined;
      case "{":
        this.#open({ isArray: false, key: undefined });
        return undefined;
      case "[":
        this.#openArray(index);
        return undefined;
      default:
        return this.#close(index);
    }
  }

  get #isIn(): boolean {
    return this.isInArray && this.#stack.length === this.#path.length + 1;
  }

  #name(): void {
    const top = this.#stack.at(-1);
    if (this.isInArray || top === undefined) return;
    top.key = this.#lastString.length > MAX_NAME ? undefined : parseText(this.#lastString);
  }

  #openArray(index: number): void {
    if (!this.isInArray && isAt(this.#stack, this.#path)) {
      this.#arrayAt = index;
      this.#elementAt = index + 1;
    }
    this.#open({ isArray: true, key: undefined });
  }

  #open(container: Container): void {
    if (this.#stack.length >= this.#maxDepth) {
      const place = this.isInArray ? `row ${this.#elements + 1} of its answer` : "its answer";
      throw tooDeep(place, this.#maxDepth);
    }
    this.#stack.push(container);
  }

  #close(index: number): string | undefined {
    if (!this.#isIn) {
      this.#stack.pop();
      return undefined;
    }
    const rest = this.#text.length - index;
    if (this.#arrayAt + rest > MAX_ROW_BYTES) throw surroundingsTooLarge();
    this.outer = `${this.#text.slice(0, this.#arrayAt)}[]${this.#text.slice(index + 1)}`;
    const element = this.#endElement(index);
    // Only that of an empty array has no text; any other one is a fault, which its parser finds.
    return element === "" && this.#elements === 1 ? undefined : element;
  }

  #endElement(end: number): string {
    const element = this.#text.slice(this.#elementAt, end).trim();
    this.#elementAt = end + 1;
    this.#elements += 1;
    return element;
  }
}

function isAt(stack: readonly Container[], path: readonly string[]): boolean {
  return (
    stack.length === path.length &&
    stack.every(({ isArray, key }, depth) => !isArray && key === path[depth])
  );
}

function nextMark(text: string, from: number, to: number): number {
  let index = from;
  for (; index < to; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE:
      case 0x2c: // ,
      case 0x3a: // :
      case 0x5b: // [
      case 0x5d: // ]
      case 0x7b: // {
      case 0x7d: // }
        return index;
    }
  }
  return index;
}

/** Beyond the length of a row it need not be the end. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    if (end - start > MAX_ROW_BYTES) return end;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

/** A name may be written with escapes. */
function parseText(text: string): string | undefined {
  try {
    return JSON.parse(text) as string;
  } catch {
    return undefined;
  }
}
