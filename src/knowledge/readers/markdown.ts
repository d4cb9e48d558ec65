import {
  type Block,
  type Reader,
  type ReadLimits,
  type SourceFile,
  tooManyCharacters,
} from "./reader.ts";
import { FrontMatter } from "./shared/front-matter.ts";
import { Paragraphs } from "./shared/paragraphs.ts";
import { type Line, readLines } from "./shared/read-text.ts";
import { TableRows } from "./shared/table-rows.ts";

const EXTENSIONS = new Set(["md", "markdown", "mdown", "mkd", "mdx"]);
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
/** A line that begins with code in three backticks, and ends it, begins no block of code. */
const FENCE = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/;
const FENCE_END = /^ {0,3}(`{3,}|~{3,})[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
/** The line below a table's header has nothing but these, and a mark for each column. */
const TABLE_LINE = /^[ \t|:-]+$/;
const COLUMN_MARK = /^:?-+:?$/;
const LONGEST_HEADING = 500;

export const markdownReader: Reader = {
  format: "Markdown",
  matches: (file) => EXTENSIONS.has(file.extension),
  read: readMarkdown,
};

async function* readMarkdown(file: SourceFile): AsyncGenerator<Block, void> {
  const document = new MarkdownBlocks(file.limits);
  const top = new FrontMatter();
  for await (const lines of readLines(file)) {
    for (const line of lines) {
      if (top.isOver) yield* document.add(line);
      else yield* top.add(line, document);
    }
  }
  yield* top.end(document);
  yield* document.end();
}

/** Reads Markdown line by line. It holds one line back, because the next one may make it a heading or a table. */
class MarkdownBlocks {
  readonly #limits: ReadLimits;
  readonly #paragraphs = new Paragraphs();
  #held: Line | undefined;
  /** The held line is no piece of a longer one. */
  #isHeldWhole = false;
  #fence: string | undefined;
  #table: TableRows | undefined;
  /** The pieces so far of a row that is too long for one. */
  #row = "";
  /** The line before this one goes on with it. */
  #isWithinLine = false;

  constructor(limits: ReadLimits) {
    this.#limits = limits;
  }

  *add(line: Line): Generator<Block, void> {
    const isWhole = !line.isCut && !this.#isWithinLine;
    this.#isWithinLine = line.isCut;
    if (this.#table !== undefined && (this.#row !== "" || line.text.includes("|"))) {
      yield* this.#addRow(this.#table, line);
      return;
    }
    if (isWhole && this.#fence === undefined && (yield* this.#structure(line.text))) return;
    yield* this.#release();
    this.#table = undefined;
    if (isWhole) this.#turnFence(line.text);
    this.#held = line;
    this.#isHeldWhole = isWhole;
  }

  *end(): Generator<Block, void> {
    yield* this.#release();
    yield* this.#endParagraph();
  }

  *#addRow(table: TableRows, { text, isCut }: Line): Generator<Block, void> {
    this.#row += text;
    if (this.#row.length > this.#limits.characters) throw tooManyCharacters(this.#limits);
    if (isCut) return;
    const row = table.row(cellsOf(this.#row));
    this.#row = "";
    if (row !== undefined) yield row;
  }

  /** Returns true when the line was a heading or begins a table. */
  *#structure(text: string): Generator<Block, boolean> {
    const above = this.#isHeldWhole ? this.#held : undefined;
    if (above?.text.includes("|") && isTableLine(text)) {
      this.#held = undefined;
      yield* this.#endParagraph();
      this.#table = new TableRows();
      yield* this.#addRow(this.#table, above);
      return true;
    }
    if (text.length > LONGEST_HEADING) return false;
    const [, marks, title = ""] = HEADING.exec(text) ?? [];
    if (marks === undefined) return yield* this.#underlined(text, above);
    yield* this.end();
    if (title !== "") yield { kind: "heading", level: marks.length, text: title };
    this.#table = undefined;
    return true;
  }

  *#underlined(text: string, above: Line | undefined): Generator<Block, boolean> {
    if (above === undefined || above.text.trim() === "") return false;
    const [, marks] = UNDERLINE.exec(text) ?? [];
    if (marks === undefined || above.text.length > LONGEST_HEADING || FENCE.test(above.text))
      return false;
    this.#held = undefined;
    yield* this.#endParagraph();
    yield { kind: "heading", level: marks.startsWith("=") ? 1 : 2, text: above.text.trim() };
    return true;
  }

  /** Only a line of marks alone ends a block of code: as many of the same as began it, or more. */
  #turnFence(text: string): void {
    if (this.#fence === undefined) this.#fence = FENCE.exec(text)?.[1];
    else if (FENCE_END.exec(text)?.[1]?.startsWith(this.#fence)) this.#fence = undefined;
  }

  *#release(): Generator<Block, void> {
    const held = this.#held;
    this.#held = undefined;
    const block = held === undefined ? undefined : this.#paragraphs.add(held);
    if (block !== undefined) yield block;
  }

  *#endParagraph(): Generator<Block, void> {
    const block = this.#paragraphs.end();
    if (block !== undefined) yield block;
  }
}

function isTableLine(text: string): boolean {
  if (!text.includes("|") || !TABLE_LINE.test(text)) return false;
  return cellsOf(text).every((cell) => COLUMN_MARK.test(cell.trim()));
}

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|"));
}
