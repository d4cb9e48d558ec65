import type { Block } from "../reader.ts";
import { Paragraphs } from "./paragraphs.ts";
import type { Line } from "./read-text.ts";

const BEGIN = /^---[ \t]*$/;
const END = /^(?:---|\.\.\.)[ \t]*$/;
/** What follows the first line; after an empty line or a sentence that line is a rule across the page. */
const FIRST_ENTRY = /^(?:#|["']?[\w.-]+["']?[ \t]*:(?:[ \t]|$))/;
const TITLE = /^title[ \t]*:[ \t]+(?![|>])(.*)$/i;
const QUOTES = /^(["'])(.*)\1$/;
const LINES_MAX = 1_000;

/** What takes the lines of the document itself. */
interface Document {
  readonly add: (line: Line) => Generator<Block, void>;
}

/**
 * Reads the YAML that may stand at the top of a document, between lines of three hyphens. Its title is a heading, since
 * such a document often has no other one, and the rest is text: people search for authors and tags, too.
 */
export class FrontMatter {
  /** Lines are no longer to be given to it, but to the document. */
  isOver = false;
  readonly #lines: Line[] = [];

  *add(line: Line, document: Document): Generator<Block, void> {
    const place = this.#lines.push(line) - 1;
    if (place > 0 && END.test(line.text)) {
      this.isOver = true;
      yield* this.#blocks();
    } else if (!this.#mayContinue(line, place)) yield* this.end(document);
  }

  /** Gives the document what has turned out to be its text. */
  *end(document: Document): Generator<Block, void> {
    if (this.isOver) return;
    this.isOver = true;
    for (const line of this.#lines) yield* document.add(line);
  }

  #mayContinue({ text, isCut }: Line, place: number): boolean {
    if (isCut || place > LINES_MAX) return false;
    if (place === 0) return BEGIN.test(text);
    return place > 1 || FIRST_ENTRY.test(text);
  }

  *#blocks(): Generator<Block, void> {
    const lines = this.#lines.slice(1, -1);
    const titleAt = lines.findIndex(({ text }) => TITLE.test(text));
    const [, title = ""] = TITLE.exec(lines[titleAt]?.text ?? "") ?? [];
    const text = title.trim().replace(QUOTES, "$2");
    if (text !== "") yield { kind: "heading", level: 1, text };
    const paragraphs = new Paragraphs();
    for (const [index, line] of lines.entries()) {
      const block = index === titleAt && text !== "" ? undefined : paragraphs.add(line);
      if (block !== undefined) yield block;
    }
    const block = paragraphs.end();
    if (block !== undefined) yield block;
  }
}
