import type { JsonValue } from "./json-schema.ts";

/** JSON as a text in which every value has its place. */

export interface JsonMember {
  readonly name: string;
  /** Where its name begins, with the quote. */
  readonly start: number;
  readonly node: JsonNode;
}

export interface JsonNode {
  readonly start: number;
  /** Behind its last character. */
  readonly end: number;
  readonly value: JsonValue;
  /** Of an object. Of a repeated name the last one counts, as everywhere. */
  readonly members?: readonly JsonMember[];
  /** Of a list. */
  readonly items?: readonly JsonNode[];
}

export type JsonPath = ReadonlyArray<string | number>;

export interface JsonFault {
  readonly offset: number;
  readonly message: string;
}

export type ParsedJson = { readonly root: JsonNode } | { readonly fault: JsonFault };

const MAX_DEPTH = 200;
const SPACE = /[ \t\n\r]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"/sy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const INTEGER = /^-?\d+$/;
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
] as const;

let last: { readonly text: string; readonly parsed: ParsedJson } | undefined;

/** Parses a JSON text. Returns the first fault of a wrong one. Several changes of one text parse it once. */
export function parseJson(text: string): ParsedJson {
  if (last?.text !== text) last = { text, parsed: parse(text) };
  return last.parsed;
}

function parse(text: string): ParsedJson {
  try {
    const reader = new Reader(text);
    return { root: reader.readWhole() };
  } catch (thrown) {
    if (thrown instanceof Stop)
      return { fault: { offset: thrown.offset, message: thrown.message } };
    throw thrown;
  }
}

/** Returns the value at a path; undefined where there is none. */
export function nodeAt(root: JsonNode, path: JsonPath): JsonNode | undefined {
  let node: JsonNode | undefined = root;
  for (const part of path) {
    node = typeof part === "number" ? node?.items?.[part] : memberOf(node, part)?.node;
  }
  return node;
}

export function memberOf(node: JsonNode | undefined, name: string): JsonMember | undefined {
  return node?.members?.findLast((member) => member.name === name);
}

/** Splits `headers.authorization[0]` into its parts, as faults name fields. */
export function pathOfField(field: string): JsonPath {
  return field
    .split(/[.[\]]+/)
    .filter((part) => part !== "")
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

/** Returns the line of an offset, counted from 1. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split("\n").length;
}

class Stop extends Error {
  readonly offset: number;
  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readWhole(): JsonNode {
    const root = this.#read(0);
    if (this.#at < this.#text.length) throw this.#unexpected("the end");
    return root;
  }

  #read(depth: number): JsonNode {
    if (depth > MAX_DEPTH) throw new Stop(this.#at, `More than ${MAX_DEPTH} levels.`);
    this.#skip();
    const node = this.#readValue(depth);
    this.#skip();
    return node;
  }

  #readValue(depth: number): JsonNode {
    const start = this.#at;
    const sign = this.#text[start];
    if (sign === "{") return this.#readObject(depth);
    if (sign === "[") return this.#readList(depth);
    if (sign === '"') {
      const value = this.#readText();
      return { start, end: this.#at, value };
    }
    for (const [word, value] of WORDS) {
      if (!this.#text.startsWith(word, start)) continue;
      this.#at += word.length;
      return { start, end: this.#at, value };
    }
    const number = this.#match(NUMBER);
    if (number === undefined) throw this.#unexpected("a value");
    return { start, end: this.#at, value: numberOf(number) };
  }

  #readObject(depth: number): JsonNode {
    const start = this.#at;
    const members: JsonMember[] = [];
    this.#at += 1;
    this.#skip();
    if (!this.#take("}")) {
      do {
        this.#skip();
        const nameStart = this.#at;
        if (this.#text[nameStart] !== '"') throw this.#unexpected("a name in quotes");
        const name = this.#readText();
        this.#skip();
        if (!this.#take(":")) throw this.#unexpected("':'");
        members.push({ name, start: nameStart, node: this.#read(depth + 1) });
      } while (this.#take(","));
      if (!this.#take("}")) throw this.#unexpected("',' or '}'");
    }
    const value = Object.fromEntries(members.map(({ name, node }) => [name, node.value]));
    return { start, end: this.#at, value, members };
  }

  #readList(depth: number): JsonNode {
    const start = this.#at;
    const items: JsonNode[] = [];
    this.#at += 1;
    this.#skip();
    if (!this.#take("]")) {
      do {
        items.push(this.#read(depth + 1));
      } while (this.#take(","));
      if (!this.#take("]")) throw this.#unexpected("',' or ']'");
    }
    return { start, end: this.#at, value: items.map(({ value }) => value), items };
  }

  #readText(): string {
    const start = this.#at;
    const raw = this.#match(TEXT);
    if (raw === undefined) throw new Stop(start, "This text does not end: a quote is missing.");
    const text = textOf(raw);
    if (text !== undefined) return text;
    throw new Stop(
      start,
      "This text has a line break, a tab or an escape that JSON does not know.",
    );
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0];
    this.#at += found?.length ?? 0;
    return found;
  }

  #skip(): void {
    this.#match(SPACE);
  }

  #take(sign: string): boolean {
    if (this.#text[this.#at] !== sign) return false;
    this.#at += 1;
    return true;
  }

  #unexpected(wanted: string): Stop {
    const found = this.#text[this.#at];
    const shown = found === undefined ? "the text ends" : `there is '${found}'`;
    return new Stop(this.#at, `Here ${shown}, and ${wanted} was expected.`);
  }
}

/** Reads a number; one that would be rounded or is too large becomes the text of its digits, as on the server. */
function numberOf(digits: string): number | string {
  const value = Number(digits);
  const isKept = INTEGER.test(digits) ? Number.isSafeInteger(value) : Number.isFinite(value);
  return isKept ? value : digits;
}

/** Reads a text in quotes; undefined where it has what JSON does not allow. */
function textOf(raw: string): string | undefined {
  try {
    return JSON.parse(raw) as string;
  } catch {
    return undefined;
  }
}
