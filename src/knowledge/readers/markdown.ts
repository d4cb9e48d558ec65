import type { Block, Reader, SourceFile } from "./reader.ts";
import { Paragraphs } from "./shared/paragraphs.ts";
import { type Line, readLines } from "./shared/read-text.ts";
import { TableRows } from "./shared/table-rows.ts";

const EXTENSIONS = new Set(["md", "markdown", "mdown", "mkd", "mdx"]);
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
/** The line below a table's header. */
const TABLE_LINE =
  /^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*$|^[ \t]*\|[ \t]*:?-+:?[ \t]*\|[ \t]*$/;
const LONGEST_HEADING = 500;

export const markdownReader: Reader = {
  format: "Markdown",
  matches: (file) => EXTENSIONS.has(file.extension),
  read: readMarkdown,
};

async function* readMarkdown(file: SourceFile): AsyncGenerator<Block, void> {
  const document = new MarkdownBlocks();
  for await (const lines of readLines(file)) {
    for (const line of lines) yield* document.add(line);
  }
  yield* document.end();
}

/** Reads Markdown line by line. It holds one line back, because the next one may make it a heading or a table. */
class MarkdownBlocks {
  readonly #paragraphs = new Paragraphs();
  #held: Line | undefined;
  #fence: string | undefined;
  #table: TableRows | undefined;

  *add(line: Line): Generator<Block, void> {
    if (this.#fence === undefined && !line.isCut && line.text.length <= LONGEST_HEADING) {
      if (yield* this.#structure(line.text)) return;
    }
    yield* this.#release();
    this.#table = undefined;
    this.#turnFence(line.text);
    this.#held = line;
  }

  *end(): Generator<Block, void> {
    yield* this.#release();
    yield* this.#endParagraph();
  }

  /** Returns true when the line was a heading or belongs to a table. */
  *#structure(text: string): Generator<Block, boolean> {
    if (this.#table !== undefined && text.includes("|")) {
      const row = this.#table.row(cellsOf(text));
      if (row !== undefined) yield row;
      return true;
    }
    const [, marks, title = ""] = HEADING.exec(text) ?? [];
    if (marks !== undefined) {
      yield* this.end();
      if (title !== "") yield { kind: "heading", level: marks.length, text: title };
      this.#table = undefined;
      return true;
    }
    return yield* this.#underlined(text);
  }

  *#underlined(text: string): Generator<Block, boolean> {
    const above = this.#held;
    if (above === undefined || above.isCut || above.text.trim() === "") return false;
    if (above.text.includes("|") && TABLE_LINE.test(text)) {
      this.#held = undefined;
      yield* this.#endParagraph();
      this.#table = new TableRows();
      const row = this.#table.row(cellsOf(above.text));
      if (row !== undefined) yield row;
      return true;
    }
    const [, marks] = UNDERLINE.exec(text) ?? [];
    if (marks === undefined || above.text.length > LONGEST_HEADING || FENCE.test(above.text))
      return false;
    this.#held = undefined;
    yield* this.#endParagraph();
    yield { kind: "heading", level: marks.startsWith("=") ? 1 : 2, text: above.text.trim() };
    return true;
  }

  #turnFence(text: string): void {
    const [, marks] = FENCE.exec(text) ?? [];
    if (marks === undefined) return;
    if (this.#fence === undefined) this.#fence = marks;
    else if (marks.startsWith(this.#fence)) this.#fence = undefined;
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

function cellsOf(line: string): string[] {
  const inner = line
    .trim()
    .replace(/^\|/, "")
    .replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|"));
}
