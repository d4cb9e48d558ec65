import { type Block, PROTECTED, type Reader, type SourceFile, UnreadableFile } from "./reader.ts";
import { DocumentBlocks } from "./shared/document-blocks.ts";
import { decodeXml, parseXml, type XmlElement, type XmlHandler } from "./shared/parse-xml.ts";

const CONTENT = "content.xml";
const TYPE_FILE = "mimetype";
const TYPE = /^application\/vnd\.oasis\.opendocument\.(?:text|presentation)/;
const MANIFEST = "META-INF/manifest.xml";
/** Deleted text and comments. */
const SKIPPED = new Set(["tracked-changes", "annotation"]);
/** A row may claim to repeat a cell a million times. */
const SPACES_MAX = 100;

/** OpenDocument texts: paragraphs, headings and tables. */
export const odtReader: Reader = {
  format: "ODT",
  async matches({ zip, extension }) {
    if (zip?.has(CONTENT) !== true) return false;
    if (!zip.has(TYPE_FILE)) return extension === "odt";
    return TYPE.test(await start(zip.read(TYPE_FILE)));
  },
  read: readDocument,
};

async function start(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  for await (const bytes of pieces) return Buffer.from(bytes).toString("latin1", 0, 100);
  return "";
}

async function* readDocument({ zip }: SourceFile): AsyncGenerator<Block, void> {
  if (zip === undefined) return;
  if (zip.has(MANIFEST)) {
    for await (const _ of parseXml(decodeXml(zip.read(MANIFEST)), refuseEncryption));
  }
  yield* parseXml(decodeXml(zip.read(CONTENT)), new Content());
}

const refuseEncryption: XmlHandler = {
  open: ({ name }) => {
    if (name === "encryption-data") throw new UnreadableFile("invalid_file", PROTECTED);
  },
  close: () => undefined,
  text: () => undefined,
  take: () => [],
};

class Content implements XmlHandler {
  /** A note or a text box is inside the paragraph that it belongs to. */
  readonly #blocks = new DocumentBlocks();
  #skipped = 0;

  readonly open = ({ name, attributes }: XmlElement): void => {
    if (SKIPPED.has(name)) this.#skipped += 1;
    if (this.#skipped > 0) return;
    const { paragraph } = this.#blocks;
    if (name === "p") this.#blocks.openParagraph();
    else if (name === "h") {
      const level = Math.max(1, Number(attributes["outline-level"] ?? 1) || 1);
      this.#blocks.openParagraph(level);
    } else if (name === "table") this.#blocks.openTable();
    else if (name === "table-row") this.#blocks.openRow();
    else if (/^(?:covered-)?table-cell$/.test(name)) this.#blocks.openCell();
    else if (paragraph !== undefined) paragraph.text += charactersOf(name, attributes);
  };

  readonly close = (name: string): void => {
    if (SKIPPED.has(name)) this.#skipped -= 1;
    else if (this.#skipped > 0) return;
    else if (name === "p" || name === "h") this.#blocks.endParagraph();
    else if (name === "table") this.#blocks.endTable();
    else if (name === "table-row") this.#blocks.endRow();
  };

  readonly text = (text: string): void => {
    const { paragraph } = this.#blocks;
    if (this.#skipped === 0 && paragraph !== undefined)
      paragraph.text += text.replaceAll(/\s+/g, " ");
  };

  take(): readonly Block[] {
    return this.#blocks.take();
  }
}

function charactersOf(name: string, attributes: XmlElement["attributes"]): string {
  if (name === "tab") return "\t";
  if (name === "line-break") return "\n";
  return name === "s" ? " ".repeat(Math.min(SPACES_MAX, Number(attributes["c"] ?? 1) || 1)) : "";
}
