import type { Block, Cell, Reader, SourceFile } from "./reader.ts";
import { parseXml, type XmlElement, type XmlHandler } from "./shared/parse-xml.ts";
import { encodingOf, readText } from "./shared/read-text.ts";
import { markupOf } from "./shared/source-file.ts";

const EXTENSIONS = new Set(["xml", "rss", "atom", "xsd", "xsl", "xslt", "svg", "kml", "gpx"]);
const DECLARATION = /^\s*<\?xml\s/;
const ENCODING = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/;
/** A row of a list that never ends is yielded in parts. */
const ROW_MAX_CELLS = 100;

/** Records of data become rows, texts with marks inside become paragraphs. */
export const xmlReader: Reader = {
  format: "XML",
  matches: (file) => {
    const text = markupOf(file);
    return DECLARATION.test(text) || (EXTENSIONS.has(file.extension) && /^\s*</.test(text));
  },
  read: readXml,
};

async function* readXml(file: SourceFile): AsyncGenerator<Block, void> {
  const [, declared] = ENCODING.exec(markupOf(file)) ?? [];
  yield* parseXml(readText(file, await encodingOf(file, declared)), new Records());
}

interface Frame {
  readonly name: string;
  /** All text inside, and whether there is any outside its children. */
  text: string;
  hasOwnText: boolean;
  hasChildren: boolean;
  cells: Cell[];
}

class Records implements XmlHandler {
  readonly #frames: Frame[] = [];
  #blocks: Block[] = [];

  readonly open = ({ name, attributes }: XmlElement): void => {
    const parent = this.#frames.at(-1);
    if (parent !== undefined) parent.hasChildren = true;
    const cells: Cell[] = [];
    for (const [attribute, value] of Object.entries(attributes)) {
      if (value.trim() !== "" && attribute !== "schemaLocation")
        cells.push([attribute, value.trim()]);
    }
    this.#frames.push({ name, text: "", hasOwnText: false, hasChildren: false, cells });
  };

  readonly text = (text: string): void => {
    const frame = this.#frames.at(-1);
    if (frame === undefined) return;
    frame.text += text;
    frame.hasOwnText ||= text.trim() !== "";
  };

  readonly close = (): void => {
    const frame = this.#frames.pop();
    const parent = this.#frames.at(-1);
    if (frame === undefined) return;
    if (parent?.hasOwnText) parent.text += frame.text;
    else if (frame.hasOwnText && (parent === undefined || frame.hasChildren))
      this.#paragraph(frame);
    else if (parent === undefined || frame.hasChildren) this.#row(frame);
    else addTo(parent, frame);
    if (parent !== undefined && parent.cells.length >= ROW_MAX_CELLS) this.#row(parent);
  };

  take(): readonly Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  #paragraph({ text }: Frame): void {
    this.#blocks.push({ kind: "paragraph", text: text.trim() });
  }

  #row(frame: Frame): void {
    if (frame.cells.length > 0) this.#blocks.push({ kind: "row", cells: frame.cells });
    frame.cells = [];
    if (!frame.hasOwnText) frame.text = "";
  }
}

/** A value is a cell of its record, and part of the text if the record turns out to be one. */
function addTo(record: Frame, { name, text, cells }: Frame): void {
  record.text += text;
  if (text.trim() !== "") record.cells.push([name, text.trim()]);
  for (const [attribute, value] of cells) record.cells.push([`${name} ${attribute}`, value]);
}
