import type { Block, Reader, SourceFile } from "./reader.ts";
import { DocumentBlocks } from "./shared/document-blocks.ts";
import { decodeXml, parseXml, type XmlElement, type XmlHandler } from "./shared/parse-xml.ts";

/** Word on the web numbers it, as in `document2.xml`. */
const DOCUMENT = /^word\/document\d*\.xml$/;
const STYLES = "word/styles.xml";
const NOTES = ["word/footnotes.xml", "word/endnotes.xml"];
const STYLE_NAME = /^(?:heading ([1-9])|(title))$/i;
/** The replacement of what older programs cannot show, text that was moved away, and a format before its change. */
const SKIPPED = new Set(["Fallback", "moveFrom", "pPrChange", "trPrChange", "tcPrChange"]);
/** Of the columns that an element counts: those with a cell of their own. */
const OWN_COLUMNS: ReadonlyMap<string, number> = new Map([
  ["gridBefore", 0],
  ["gridSpan", 1],
]);
const CHARACTERS: Readonly<Record<string, string>> = {
  tab: "\t",
  br: "\n",
  cr: "\n",
  noBreakHyphen: "-",
};

/** Word documents: paragraphs, headings by their styles, tables, and notes at the end. */
export const docxReader: Reader = {
  format: "DOCX",
  matches: ({ zip }) => zip?.names.some((name) => DOCUMENT.test(name)) === true,
  read: readDocument,
};

async function* readDocument({ zip }: SourceFile): AsyncGenerator<Block, void> {
  if (zip === undefined) return;
  const styles = new Styles();
  if (zip.has(STYLES)) {
    for await (const _ of parseXml(decodeXml(zip.read(STYLES)), styles));
  }
  for (const name of [...zip.names.filter((part) => DOCUMENT.test(part)), ...NOTES]) {
    if (zip.has(name)) yield* parseXml(decodeXml(zip.read(name)), new Body(styles.levels()));
  }
}

interface Style {
  name: string;
  basedOn: string | undefined;
  level: number | undefined;
}

/** Reads which styles are headings. */
class Styles implements XmlHandler {
  readonly #styles = new Map<string, Style>();
  #style: Style | undefined;

  readonly open = ({ name, attributes }: XmlElement): void => {
    const value = attributes["val"];
    if (name === "style") {
      this.#style = { name: "", basedOn: undefined, level: undefined };
      this.#styles.set(attributes["styleId"] ?? "", this.#style);
    } else if (this.#style !== undefined && value !== undefined) {
      if (name === "name") this.#style.name = value;
      else if (name === "basedOn") this.#style.basedOn = value;
      else if (name === "outlineLvl") this.#style.level = levelOf(value);
    }
  };

  readonly close = (name: string): void => {
    if (name === "style") this.#style = undefined;
  };

  readonly text = (): void => undefined;
  readonly take = (): readonly Block[] => [];

  levels(): ReadonlyMap<string, number> {
    const levels = new Map<string, number>();
    for (const id of this.#styles.keys()) {
      const level = this.#levelOf(id);
      if (level !== undefined) levels.set(id, level);
    }
    return levels;
  }

  #levelOf(id: string): number | undefined {
    const seen = new Set<string>();
    for (let at: string | undefined = id; at !== undefined && !seen.has(at); ) {
      seen.add(at);
      const style = this.#styles.get(at);
      const [, level, title] = STYLE_NAME.exec(style?.name ?? "") ?? [];
      if (title !== undefined) return 1;
      if (level !== undefined) return Number(level);
      if (style?.level !== undefined) return style.level;
      at = style?.basedOn;
    }
    return undefined;
  }
}

/** An outline level counts from 0; 9 is body text. */
function levelOf(outlineLevel: string): number | undefined {
  const level = Number(outlineLevel) + 1;
  return level >= 1 && level <= 9 ? level : undefined;
}

class Body implements XmlHandler {
  readonly #levels: ReadonlyMap<string, number>;
  /** A text box is a paragraph inside another one. */
  readonly #blocks = new DocumentBlocks();
  #isText = false;
  #skipped = 0;

  constructor(levels: ReadonlyMap<string, number>) {
    this.#levels = levels;
  }

  readonly open = ({ name, attributes }: XmlElement): void => {
    if (SKIPPED.has(name)) this.#skipped += 1;
    if (this.#skipped > 0) return;
    const { paragraph } = this.#blocks;
    const value = attributes["val"] ?? "";
    if (name === "p") this.#blocks.openParagraph();
    else if (name === "t") this.#isText = true;
    else if (name === "tbl") this.#blocks.openTable();
    else if (name === "tr") this.#blocks.openRow();
    else if (name === "tc") this.#blocks.openCell();
    else if (OWN_COLUMNS.has(name))
      this.#blocks.skipColumns(Number(value) - (OWN_COLUMNS.get(name) ?? 0));
    else if (paragraph === undefined) return;
    else if (name === "pStyle") paragraph.level ??= this.#levels.get(value);
    else if (name === "outlineLvl") paragraph.level = levelOf(value);
    // Tab stops of a paragraph's properties have a value, the tab itself has none.
    else if (attributes["val"] === undefined) paragraph.text += CHARACTERS[name] ?? "";
  };

  readonly close = (name: string): void => {
    if (SKIPPED.has(name)) this.#skipped -= 1;
    else if (this.#skipped > 0) return;
    else if (name === "t") this.#isText = false;
    else if (name === "p") this.#blocks.endParagraph();
    else if (name === "tbl") this.#blocks.endTable();
    else if (name === "tr") this.#blocks.endRow();
  };

  readonly text = (text: string): void => {
    const { paragraph } = this.#blocks;
    if (this.#isText && paragraph !== undefined) paragraph.text += text;
  };

  take(): readonly Block[] {
    return this.#blocks.take();
  }
}
