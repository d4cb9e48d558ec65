/** A piece of an answer that is read by itself: `markdown` is lexed, the others are shown as they are. */
export interface Block {
  /** Where it begins in the text; its key in a list. */
  readonly start: number;
  readonly kind: "markdown" | "code" | "plain";
  /** Of code: without its fences. */
  readonly text: string;
  /** Of code: the words behind the fence. */
  readonly language?: string;
  /** Of code: no fence closes it, so that more of it may come. */
  readonly isOpen?: boolean;
}

/** Lexers take longer than a frame for more than this, and some shapes of it take minutes. */
const MAX_MARKDOWN = 16 * 1024;
const MAX_TABLE = 64 * 1024;
/** A long list or paragraph is divided at the next line; numbered lists go on with their own numbers. */
const LONG = 8 * 1024;
/** Deeper lists and quotes than this many columns make lexers recurse without end. */
const MAX_INDENT = 64;
/** Characters that open something which an inline lexer then looks for, to the end of the block, for each of them. */
const MAX_OPENERS = 1_000;

const FENCE = /^ {0,3}(`{3,}(?!.*`)|~{3,})[ \t]*(.*)$/;
/** A line that may go on with the block above it, although a blank line stands between. */
const CONTINUES = /^(?:[ \t]|[-*+](?:[ \t]|$)|\d{1,9}[.)](?:[ \t]|$)|>)/;
const MARKERS = /^(?:[ \t>]|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))*/;

/** The first blocks of an answer. */
interface ReadBlocks {
  readonly blocks: readonly Block[];
  /** Where what was not divided begins; the text's length where all was. */
  readonly end: number;
}

/**
 * Divides an answer that grows into blocks. Only the last one is read again when text is added, so that a token costs its
 * own block and not the whole answer.
 */
export class Blocks {
  #text = "";
  #most = 0;
  #read: ReadBlocks = { blocks: [], end: 0 };

  /**
   * Returns the first blocks of a text: so many, and the one that it ends with where that is the next. Those that stay as
   * they are stay the same objects.
   */
  read(text: string, most = Number.POSITIVE_INFINITY): ReadBlocks {
    if (text === this.#text && most === this.#most) return this.#read;
    const { blocks, end } = this.#read;
    const isLonger = this.#text !== "" && text.startsWith(this.#text);
    const isFull = isLonger && most === this.#most && end < this.#text.length;
    [this.#text, this.#most] = [text, most];
    // What was added belongs to what is not divided.
    if (isFull) return this.#read;
    const settled = isLonger ? blocks.slice(0, -1) : [];
    const from = isLonger ? (blocks.at(-1)?.start ?? 0) : 0;
    const added = divide(text, from, most - settled.length);
    this.#read = { blocks: [...settled, ...added.blocks], end: added.end };
    return this.#read;
  }
}

interface Fence {
  readonly mark: string;
  readonly words: string;
  /** Where the code begins. */
  readonly inside: number;
}

const LINE_FEED = 10;

function divide(text: string, from: number, most: number): ReadBlocks {
  const blocks: Block[] = [];
  let start = from;
  let isAfterBlank = false;
  const end = (at: number) => {
    const piece = text.slice(start, at);
    if (piece.trim() !== "") blocks.push(toBlock(start, piece));
    start = at;
  };
  for (let at = from; at < text.length; ) {
    if (text.charCodeAt(at) === LINE_FEED) {
      isAfterBlank = true;
      at += 1;
      continue;
    }
    const { line, next } = lineAt(text, at);
    const fence = openFence(line, next);
    const isBlank = line.trim() === "" && next - at <= SEEN;
    if (fence !== undefined || (!isBlank && endsBefore(line, at - start, isAfterBlank))) end(at);
    if (blocks.length >= most) return { blocks, end: start };
    isAfterBlank = isBlank;
    at = next;
    if (fence === undefined) continue;
    const close = closeOf(text, fence);
    const code = codeBlock(start, text.slice(fence.inside, close.at), fence.words);
    blocks.push(close.isOpen ? { ...code, isOpen: true } : code);
    [start, at, isAfterBlank] = [close.next, close.next, false];
  }
  end(text.length);
  return { blocks, end: text.length };
}

/** What decides about a line stands at its beginning; a line of megabytes is not copied to see it. */
const SEEN = 1024;

function lineAt(text: string, at: number): { readonly line: string; readonly next: number } {
  const newline = text.indexOf("\n", at);
  const next = newline < 0 ? text.length : newline + 1;
  return { line: text.slice(at, Math.min(next, at + SEEN)).replace(/\r?\n$/, ""), next };
}

function openFence(line: string, inside: number): Fence | undefined {
  const [, mark, words = ""] = FENCE.exec(line) ?? [];
  return mark === undefined ? undefined : { mark, words: words.trim(), inside };
}

/** Finds the line that closes a fence by one search, for code may have 100,000 lines; the text's end where none does. */
function closeOf(text: string, { mark, inside }: Fence) {
  const closing = new RegExp(`\\n {0,3}${mark[0]}{${mark.length},}[ \\t]*(?:\\r?\\n|$)`, "g");
  // The line feed at the end of the line that opens it.
  closing.lastIndex = inside - 1;
  const found = closing.exec(text);
  if (found === null) return { at: text.length, next: text.length, isOpen: true };
  return { at: found.index + 1, next: found.index + found[0].length, isOpen: false };
}

function endsBefore(line: string, length: number, isAfterBlank: boolean): boolean {
  return (isAfterBlank && !CONTINUES.test(line)) || (length > LONG && /^[^\s|>]/.test(line));
}

function codeBlock(start: number, inside: string, words: string): Block {
  const text = inside.replace(/\r?\n$/, "");
  return { start, kind: "code", text, language: words.split(/\s/, 1)[0] ?? "" };
}

function toBlock(start: number, piece: string): Block {
  return { start, kind: isTooHard(piece) ? "plain" : "markdown", text: piece };
}

function isTooHard(piece: string): boolean {
  const isTable = piece.trimStart().startsWith("|");
  if (piece.length > (isTable ? MAX_TABLE : MAX_MARKDOWN)) return true;
  let openers = 0;
  for (const line of piece.split("\n")) {
    if ((MARKERS.exec(line)?.[0] ?? "").replaceAll("\t", "    ").length > MAX_INDENT) return true;
    openers += line.match(/[[*_`~<$\\]/g)?.length ?? 0;
  }
  return openers > MAX_OPENERS;
}
