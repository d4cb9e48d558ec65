import type { Block, Reader, SourceFile, ZipFile } from "./reader.ts";
import { decodeXml, parseXml, type XmlElement, type XmlHandler } from "./shared/parse-xml.ts";
import { TableRows } from "./shared/table-rows.ts";

const PRESENTATION = "ppt/presentation.xml";
const RELATIONS = "ppt/_rels/presentation.xml.rels";
const SLIDE = /^ppt\/slides\/[^/]+\.xml$/;

/** Presentations: a page a slide, its title as heading, its notes after its text. */
export const pptxReader: Reader = {
  format: "PPTX",
  matches: ({ zip }) => zip?.has(PRESENTATION) === true,
  read: readSlides,
};

async function* readSlides({ zip }: SourceFile): AsyncGenerator<Block, void> {
  if (zip === undefined) return;
  const targets = await relationsOf(zip, RELATIONS);
  const order = await attributesOf(zip, PRESENTATION, "sldId");
  const slides = order
    .map((attributes) => pathOf("ppt", targets.get(relationOf(attributes))?.target ?? ""))
    .filter((name) => SLIDE.test(name) && zip.has(name));
  for (const [index, name] of slides.entries()) {
    const page = index + 1;
    yield* parseXml(decodeXml(zip.read(name)), new Slide(page));
    const relations = await relationsOf(zip, name.replace(/([^/]+)$/, "_rels/$1.rels"));
    for (const { type, target } of relations.values()) {
      // Most relations lead elsewhere, such as links to the web, whose targets are no paths.
      if (!type.endsWith("/notesSlide")) continue;
      const notes = pathOf("ppt/slides", target);
      if (zip.has(notes)) yield* parseXml(decodeXml(zip.read(notes)), new Slide(page));
    }
  }
}

type Attributes = XmlElement["attributes"];

interface Relation {
  readonly type: string;
  readonly target: string;
}

async function relationsOf(zip: ZipFile, name: string): Promise<ReadonlyMap<string, Relation>> {
  if (!zip.has(name)) return new Map();
  const relations = await attributesOf(zip, name, "Relationship");
  return new Map(
    relations.map(({ Id = "", Type: type = "", Target: target = "" }) => [Id, { type, target }]),
  );
}

/** The relation of a slide's entry, whose own number is an id, too. */
function relationOf(attributes: Attributes): string {
  const prefixed = Object.keys(attributes).find((name) => name.endsWith(":id"));
  return attributes[prefixed ?? "id"] ?? "";
}

/**
 * Returns the path of a relation's target, which is relative to its folder or begins at the root. Returns an empty text, which
 * is the path of no part, if the target is not a path.
 */
function pathOf(folder: string, target: string): string {
  try {
    const { pathname } = new URL(target, `file:///${folder}/`);
    return decodeURIComponent(pathname.slice(1));
  } catch {
    return "";
  }
}

/** The attributes of all elements with this name. */
async function attributesOf(zip: ZipFile, file: string, element: string) {
  const found: Attributes[] = [];
  const handler: XmlHandler = {
    open: ({ name, attributes }) => {
      if (name === element) found.push(attributes);
    },
    close: () => undefined,
    text: () => undefined,
    take: () => [],
  };
  for await (const _ of parseXml(decodeXml(zip.read(file)), handler));
  return found;
}

class Slide implements XmlHandler {
  readonly #page: number;
  #blocks: Block[] = [];
  #shape = "";
  #text = "";
  #isText = false;
  #table: TableRows | undefined;
  #cells: string[] = [];

  constructor(page: number) {
    this.#page = page;
  }

  readonly open = ({ name, attributes }: XmlElement): void => {
    if (name === "sp") this.#shape = "";
    else if (name === "ph") this.#shape = attributes["type"] ?? "";
    else if (name === "t") this.#isText = true;
    else if (name === "br") this.#text += "\n";
    else if (name === "tbl") this.#table = new TableRows({ page: this.#page });
    else if (name === "tr") this.#cells = [];
    else if (name === "tc") this.#cells.push("");
  };

  readonly close = (name: string): void => {
    if (name === "t") this.#isText = false;
    else if (name === "p") this.#endParagraph();
    else if (name === "sp") this.#shape = "";
    else if (name === "tbl") this.#table = undefined;
    else if (name === "tr") {
      const row = this.#table?.row(this.#cells);
      if (row !== undefined) this.#blocks.push(row);
    }
  };

  readonly text = (text: string): void => {
    if (this.#isText) this.#text += text;
  };

  take(): readonly Block[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  #endParagraph(): void {
    const text = this.#text.trim();
    this.#text = "";
    // The number of the slide is no text of it.
    if (text === "" || this.#shape === "sldNum") return;
    const page = this.#page;
    if (this.#table !== undefined) this.#cells.push(`${this.#cells.pop() ?? ""}${text}\n`);
    else if (this.#shape === "title" || this.#shape === "ctrTitle")
      this.#blocks.push({ kind: "heading", level: 1, page, text });
    else this.#blocks.push({ kind: "paragraph", page, text });
  }
}
