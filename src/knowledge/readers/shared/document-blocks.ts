import type { Block } from "../reader.ts";
import { TableRows } from "./table-rows.ts";

/** As many columns as Word has. */
const SKIPPED_MAX = 63;

interface Paragraph {
  text: string;
  /** Of a heading. */
  level: number | undefined;
}

/**
 * Makes blocks of the paragraphs, headings and tables of a word processor's document. Paragraphs may contain others. A
 * table inside a cell belongs to that cell.
 */
export class DocumentBlocks {
  readonly #paragraphs: Paragraph[] = [];
  #blocks: Block[] = [];
  #tableDepth = 0;
  #table = new TableRows();
  #cells: string[] = [];
  #skipped = 0;

  /** The innermost open paragraph. */
  get paragraph(): Paragraph | undefined {
    return this.#paragraphs.at(-1);
  }

  openParagraph(level?: number): void {
    this.#paragraphs.push({ text: "", level });
  }

  endParagraph(): void {
    const { text, level } = this.#paragraphs.pop() ?? { text: "", level: undefined };
    if (text.trim() === "") return;
    const cell = this.#cells.length - 1;
    if (this.#tableDepth > 0 && cell >= 0) this.#cells[cell] += `${text}\n`;
    else if (level === undefined) this.#blocks.push({ kind: "paragraph", text: text.trim() });
    else this.#blocks.push({ kind: "heading", level, text: text.trim() });
  }

  openTable(): void {
    this.#tableDepth += 1;
    if (this.#tableDepth === 1) this.#table = new TableRows();
  }

  endTable(): void {
    this.#tableDepth -= 1;
  }

  openRow(): void {
    if (this.#tableDepth !== 1) return;
    this.#cells = [];
    this.#skipped = 0;
  }

  openCell(): void {
    if (this.#tableDepth !== 1) return;
    for (; this.#skipped > 0; this.#skipped -= 1) this.#cells.push("");
    this.#cells.push("");
  }

  /** Has so many columns left out before the next cell of the row: another cell reaches over them. */
  skipColumns(count: number): void {
    if (this.#tableDepth === 1) this.#skipped = Math.min(count, SKIPPED_MAX);
  }

  endRow(): void {
    if (this.#tableDepth !== 1) return;
    const row = this.#table.row(this.#cells);
    if (row !== undefined) this.#blocks.push(row);
  }

  /** Returns the blocks that are complete, once. */
  take(): readonly Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }
}
