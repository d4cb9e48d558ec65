import { setImmediate as nextTurn } from "node:timers/promises";

/** Characters between two pauses, in which others are served. */
const SLICE = 512 * 1024;
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

/**
 * Splits the array at a path of a JSON text into its elements, in pieces small enough that nothing else waits. A parser
 * would read all of a large text at once. What is no valid JSON is found when the parts are parsed.
 *
 * @param path the members that lead to the array; empty for the text itself.
 * @param onElement takes the text of an element.
 */
export async function splitJsonArray(
  text: string,
  path: readonly string[],
  onElement: (element: string) => Promise<void>,
): Promise<SplitJson> {
  const splitter = new Splitter(text, path);
  let pausesAt = SLICE;
  for (let index = nextMark(text, 0); index < text.length; index = nextMark(text, index + 1)) {
    if (index > pausesAt) {
      pausesAt = index + SLICE;
      await nextTurn();
    }
    if (text.charCodeAt(index) === QUOTE) {
      index = splitter.skipString(index);
      continue;
    }
    const element = splitter.mark(index);
    if (element !== undefined && element !== "") await onElement(element);
    if (splitter.outer !== undefined) return { outer: splitter.outer, isFound: true };
  }
  return { outer: text, isFound: false };
}

class Splitter {
  readonly #text: string;
  readonly #path: readonly string[];
  readonly #stack: Container[] = [];
  #lastString = "";
  /** Where the array begins; -1 before it. */
  #arrayAt = -1;
  #elementAt = -1;
  /** Set at the end of the array. */
  outer: string | undefined;

  constructor(text: string, path: readonly string[]) {
    this.#text = text;
    this.#path = path;
  }

  /** Returns where the string ends. */
  skipString(start: number): number {
    const end = endOfString(this.#text, start);
    if (this.#arrayAt < 0) this.#lastString = this.#text.slice(start, end + 1);
    return end;
  }

  /** Takes a bracket, colon or comma. Returns the element that it ends. */
  mark(index: number): string | undefined {
    switch (this.#text[index]) {
      case ":":
        this.#name();
        return undefined;
      case ",":
        return this.#isIn ? this.#endElement(index) : undefined;
      case "{":
        this.#stack.push({ isArray: false, key: undefined });
        return undefined;
      case "[":
        this.#openArray(index);
        return undefined;
      default:
        return this.#close(index);
    }
  }

  get #isIn(): boolean {
    return this.#arrayAt >= 0 && this.#stack.length === this.#path.length + 1;
  }

  #name(): void {
    const top = this.#stack.at(-1);
    if (this.#arrayAt < 0 && top !== undefined) top.key = parseText(this.#lastString);
  }

  #openArray(index: number): void {
    if (this.#arrayAt < 0 && isAt(this.#stack, this.#path)) {
      this.#arrayAt = index;
      this.#elementAt = index + 1;
    }
    this.#stack.push({ isArray: true, key: undefined });
  }

  #close(index: number): string | undefined {
    if (!this.#isIn) {
      this.#stack.pop();
      return undefined;
    }
    this.outer = `${this.#text.slice(0, this.#arrayAt)}[]${this.#text.slice(index + 1)}`;
    return this.#endElement(index);
  }

  #endElement(end: number): string {
    const element = this.#text.slice(this.#elementAt, end).trim();
    this.#elementAt = end + 1;
    return element;
  }
}

function isAt(stack: readonly Container[], path: readonly string[]): boolean {
  return (
    stack.length === path.length &&
    stack.every(({ isArray, key }, depth) => !isArray && key === path[depth])
  );
}

function nextMark(text: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
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
  return text.length;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
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
