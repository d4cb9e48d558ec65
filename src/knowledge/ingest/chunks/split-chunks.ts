import { storableText } from "../../../lib/text/storable-text.ts";
import type { Block } from "../../readers/reader.ts";
import { ChunkBuilder } from "./chunk-builder.ts";
import { rowLines } from "./row-lines.ts";

/** Longer headings are cut in the path; their whole text is then part of the chunks, too. */
const HEADING_MAX_CHARACTERS = 200;
const HEADING_SEPARATOR = " > ";

export interface ChunkOptions {
  /** Characters (UTF-16 units) of a chunk at most. */
  readonly size: number;
  /** Characters that a chunk repeats from the one before it, at most; more than half of the size is cut to that. */
  readonly overlap: number;
}

/** A searchable piece of a document. */
export interface Chunk {
  /** From 0, without gaps. */
  readonly position: number;
  readonly text: string;
  /** The headings above it, outermost first, joined by ` > `. They are not part of the text. */
  readonly heading: string | null;
  /** From 1. A chunk does not go beyond a page, but for what it repeats. */
  readonly page: number | null;
  readonly sheet: string | null;
}

interface Heading {
  readonly level: number;
  readonly text: string;
}

/**
 * Splits a document into chunks, in one batch for each batch of blocks. A chunk ends at headings, pages and sheets,
 * and otherwise at the end of a paragraph, a sentence or a word, never inside a grapheme unless that is longer than a
 * chunk. Rows of tables are lines like `Name: Bolt; Price: 5`, which are whole wherever they fit. Equal documents
 * give equal chunks.
 */
export async function* splitChunks(
  blocks: AsyncIterable<readonly Block[]> | Iterable<readonly Block[]>,
  options: ChunkOptions,
): AsyncGenerator<readonly Chunk[], void> {
  const splitter = new Splitter(options);
  for await (const batch of blocks) {
    for (const block of batch) splitter.add(block);
    const chunks = splitter.take();
    if (chunks.length > 0) yield chunks;
  }
  splitter.end();
  const chunks = splitter.take();
  if (chunks.length > 0) yield chunks;
}

/** The text that is embedded for a chunk: a passage is found by its document and section as well. */
export function embeddedText(filename: string, { heading, text }: Pick<Chunk, "heading" | "text">) {
  return heading === null ? `${filename}\n\n${text}` : `${filename}\n${heading}\n\n${text}`;
}

class Splitter {
  readonly #size: number;
  readonly #builder: ChunkBuilder;
  #chunks: Chunk[] = [];
  #position = 0;
  #headings: Heading[] = [];
  /** One text for all neighbours that have the same, because each chunk holds it in memory. */
  #path: string | null = null;
  /** The last heading, as long as nothing stands below it. */
  #bareHeading: Block | undefined;
  #sheet: string | undefined;

  constructor({ size, overlap }: ChunkOptions) {
    this.#size = size;
    this.#builder = new ChunkBuilder({
      size,
      overlap,
      emit: (text, page) => this.#emit(text, page),
    });
  }

  add(block: Block): void {
    if (block.kind === "heading") {
      this.#addHeading(block);
      return;
    }
    this.#bareHeading = undefined;
    if (block.sheet !== this.#sheet) this.#builder.endSection();
    this.#sheet = block.sheet;
    if (block.kind === "paragraph") this.#builder.addText(block.text, block);
    else for (const line of rowLines(block.cells, this.#size)) this.#builder.addRow(line, block);
  }

  end(): void {
    this.#endBareHeading();
    this.#builder.endSection();
  }

  take(): readonly Chunk[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }

  #addHeading(block: Extract<Block, { kind: "heading" }>): void {
    const above = this.#bareHeading;
    // A heading below another one names it in its path.
    if (above?.kind === "heading" && block.level <= above.level) this.#endBareHeading();
    this.#builder.endSection();
    this.#sheet = block.sheet;
    const text = block.text.replaceAll(/\s+/g, " ").trim();
    this.#headings = this.#headings.filter(({ level }) => level < block.level);
    // The cut may divide a character.
    const short = storableText(text.slice(0, HEADING_MAX_CHARACTERS));
    this.#headings.push({ level: block.level, text: short });
    const path = this.#headings.map((heading) => heading.text).join(HEADING_SEPARATOR) || null;
    if (path !== this.#path) this.#path = path;
    this.#bareHeading = block;
    if (text.length <= HEADING_MAX_CHARACTERS) return;
    this.#bareHeading = undefined;
    this.#builder.addText(block.text, block);
  }

  /** A heading without content is content. */
  #endBareHeading(): void {
    const heading = this.#bareHeading;
    this.#bareHeading = undefined;
    if (heading?.kind === "heading") this.#builder.addText(heading.text, heading);
  }

  #emit(text: string, page: number | undefined): void {
    this.#chunks.push({
      position: this.#position,
      text,
      heading: this.#path,
      page: page ?? null,
      sheet: this.#sheet ?? null,
    });
    this.#position += 1;
  }
}
