import { type DefaultTreeAdapterTypes, parse } from "parse5";
import type { Block, Reader, SourceFile } from "./reader.ts";
import { encodingOf, readWholeText } from "./shared/read-text.ts";
import { markupOf } from "./shared/source-file.ts";
import { SpannedCells } from "./shared/spanned-cells.ts";
import { TableRows } from "./shared/table-rows.ts";

type Node = DefaultTreeAdapterTypes.Node;
type Element = DefaultTreeAdapterTypes.Element;
type Step = Node | { readonly closes: Element };

const EXTENSIONS = new Set(["html", "htm", "xhtml", "xht"]);
/** White space that is more than one space. Single spaces are not replaced, because that takes longer than the rest. */
const GAP = / ?[\t\n\f\r][ \t\n\f\r]*| {2,}[ \t\n\f\r]*/g;
/** A comment ends at the first `-->`. If a later one could end it too, each further comment would double the work. */
const BEGINNING = /^\s*(?:<!--(?:(?!-->).)*-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]/is;
const DECLARED = /<meta[^>]+charset\s*=\s*["']?([\w:.-]+)/i;
/** They hold no text for readers, or repeat on every page. */
const SKIPPED = new Set([
  "script",
  "style",
  "nav",
  "noscript",
  "template",
  "svg",
  "math",
  "iframe",
  "object",
  "select",
  "button",
]);
/** Elements within a line; any other begins a paragraph. */
const INLINE = new Set(
  "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rp rt ruby s samp small span strike strong sub sup time tt u var wbr".split(
    " ",
  ),
);
const HEADING = /^h([1-6])$/;
const ROW_GROUP = /^t(?:head|body|foot)$/;

export const htmlReader: Reader = {
  format: "HTML",
  matches: (file) => {
    const text = markupOf(file);
    return BEGINNING.test(text) || (EXTENSIONS.has(file.extension) && text.includes("<"));
  },
  read: readHtml,
};

async function* readHtml(file: SourceFile): AsyncGenerator<Block, void> {
  const [, declared] = DECLARED.exec(markupOf(file)) ?? [];
  const document = parse(await readWholeText(file, await encodingOf(file, declared)));
  yield* new Page().blocksOf(document);
}

/** Walks over a document. It keeps its own stack: hostile pages are nested deeper than calls may be. */
class Page {
  #blocks: Block[] = [];
  #text = "";
  #headingLevel = 0;
  #preformatted = 0;
  /** Tables and the cells of their open row; a table inside a cell is part of its text. */
  #table: TableRows | undefined;
  #spanned = new SpannedCells();
  #cells: SpannedCells | undefined;
  #tableDepth = 0;

  *blocksOf(document: Node): Generator<Block, void> {
    const stack: Step[] = [document];
    for (let step = stack.pop(); step !== undefined; step = stack.pop()) {
      this.#take(step, stack);
      yield* this.#blocks;
      this.#blocks = [];
    }
    this.#end();
    yield* this.#blocks;
  }

  #take(step: Step, stack: Step[]): void {
    if ("closes" in step) this.#close(step.closes);
    else if ("value" in step) this.#addText(step.value);
    else if ("childNodes" in step) {
      if ("tagName" in step) {
        if (SKIPPED.has(step.tagName)) return;
        this.#open(step);
        stack.push({ closes: step });
      }
      for (const child of step.childNodes.toReversed()) stack.push(child);
    }
  }

  #open({ tagName }: Element): void {
    if (tagName === "br") this.#text += "\n";
    if (INLINE.has(tagName) || tagName === "br") return;
    this.#end();
    if (tagName === "pre") this.#preformatted += 1;
    else if (tagName === "title") this.#headingLevel = 1;
    else if (tagName === "table") {
      this.#tableDepth += 1;
      if (this.#tableDepth === 1) {
        this.#table = new TableRows();
        this.#spanned = new SpannedCells();
      }
    } else if (tagName === "tr" && this.#tableDepth === 1) {
      this.#cells = this.#spanned;
      this.#cells.beginRow();
    }
    const [, level] = HEADING.exec(tagName) ?? [];
    if (level !== undefined) this.#headingLevel = Number(level);
  }

  #close(element: Element): void {
    const { tagName } = element;
    if (INLINE.has(tagName) || tagName === "br") return;
    if ((tagName === "td" || tagName === "th") && this.#tableDepth === 1 && this.#cells) {
      const columns = spanOf(element, "colspan");
      this.#cells.add(oneLine(this.#text), { columns, rows: spanOf(element, "rowspan") });
      this.#text = "";
      return;
    }
    this.#end();
    if (tagName === "pre") this.#preformatted -= 1;
    else if (tagName === "table") this.#tableDepth -= 1;
    else if (tagName === "tr" && this.#tableDepth === 1) this.#endRow();
    else if (ROW_GROUP.test(tagName) && this.#tableDepth === 1) this.#spanned.endGroup();
    if (HEADING.test(tagName) || tagName === "title") this.#headingLevel = 0;
  }

  #endRow(): void {
    const row = this.#table?.row(this.#cells?.endRow() ?? []);
    this.#cells = undefined;
    if (row !== undefined) this.#blocks.push(row);
  }

  #addText(value: string): void {
    this.#text += this.#preformatted > 0 ? value : value.replaceAll(GAP, " ");
  }

  /** Ends the paragraph or heading so far; within a cell it is only a gap. */
  #end(): void {
    if (this.#cells !== undefined) {
      if (this.#text !== "") this.#text += " ";
      return;
    }
    const text = this.#text.replaceAll(/ *\n */g, (gap) => (this.#preformatted > 0 ? gap : "\n"));
    this.#text = "";
    if (text.trim() === "") return;
    if (this.#headingLevel === 0)
      this.#blocks.push({ kind: "paragraph", text: this.#preformatted > 0 ? text : text.trim() });
    else this.#blocks.push({ kind: "heading", level: this.#headingLevel, text: oneLine(text) });
  }
}

/** How far a cell reaches: 1 unless it says otherwise. 0 rows are all that follow in its group. */
function spanOf({ attrs }: Element, name: "colspan" | "rowspan"): number {
  const span = Number.parseInt(attrs.find((attribute) => attribute.name === name)?.value ?? "", 10);
  if (span === 0) return name === "rowspan" ? Number.POSITIVE_INFINITY : 1;
  return span > 0 ? span : 1;
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, " ");
}
