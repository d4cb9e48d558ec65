import { readFile } from "node:fs/promises";
import type { getDocumentProxy } from "unpdf";
import {
  type Block,
  DAMAGED,
  PROTECTED,
  type Reader,
  type SourceFile,
  UnreadableFile,
} from "./reader.ts";

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Document["getPage"]>>;
type Item = Awaited<ReturnType<Page["getTextContent"]>>["items"][number];
type TextItem = Extract<Item, { str: string }>;

const MARK = "%PDF-";
/** The mark may stand after some other bytes. */
const MARK_WITHIN_BYTES = 1_024;
/** A byte order mark, and blanks. */
const BEFORE_MARK = /^(?:\xef\xbb\xbf)?\s*$/;
const PAGES_MAX = 20_000;
/** Lines that are farther apart than this many line heights belong to different paragraphs. */
const GAP_LINES = 1.7;

/** The text of each page. It is normalised, because PDFs hold ligatures and presentation forms. */
export const pdfReader: Reader = {
  format: "PDF",
  matches: isPdf,
  read: readPages,
  noText: "The PDF has no text. Scanned pages are not read; upload it with a text layer.",
};

/** A text that names the mark, such as one about the format, is none. */
async function isPdf({ head, extension, encoding }: SourceFile): Promise<boolean> {
  const start = head.subarray(0, MARK_WITHIN_BYTES).indexOf(MARK);
  if (start < 0) return false;
  if (BEFORE_MARK.test(head.toString("latin1", 0, start)) || extension === "pdf") return true;
  return (await encoding()) === null;
}

async function* readPages(file: SourceFile): AsyncGenerator<Block, void> {
  const { getDocumentProxy } = await import("unpdf");
  const bytes = new Uint8Array(await readFile(file.path));
  const document = await getDocumentProxy(bytes, { verbosity: 0 }).catch((thrown: unknown) => {
    const isProtected = thrown instanceof Error && thrown.name === "PasswordException";
    throw new UnreadableFile("invalid_file", isProtected ? PROTECTED : DAMAGED);
  });
  const { numPages } = document;
  if (numPages > PAGES_MAX) {
    const limit = PAGES_MAX.toLocaleString("en-US");
    throw new UnreadableFile("invalid_file", `The PDF has more than ${limit} pages.`);
  }
  for (let number = 1; number <= numPages; number += 1) {
    const page = await document.getPage(number).catch(() => {
      throw new UnreadableFile("invalid_file", `${DAMAGED} Page ${number} cannot be read.`);
    });
    const { items } = await page.getTextContent();
    for (const text of paragraphsOf(items)) yield { kind: "paragraph", page: number, text };
    page.cleanup();
  }
}

/** Joins the items of a page to lines and the lines to paragraphs, by their distance. */
function paragraphsOf(items: readonly Item[]): string[] {
  const paragraphs: string[] = [];
  let text = "";
  let lineY: number | undefined;
  let height = 0;
  for (const item of items) {
    if (!isText(item)) continue;
    const y = Number(item.transform[5]);
    const isNewLine = lineY !== undefined && text.endsWith("\n");
    if (item.str !== "" && isNewLine && Math.abs(y - (lineY ?? y)) > GAP_LINES * height) {
      paragraphs.push(text);
      text = "";
    }
    text += item.str;
    if (item.hasEOL) text += "\n";
    if (item.str.trim() !== "") {
      lineY = y;
      height = Math.max(1, item.height);
    }
  }
  paragraphs.push(text);
  return paragraphs.map(normalised).filter((paragraph) => paragraph !== "");
}

function isText(item: Item): item is TextItem {
  return "str" in item;
}

function normalised(text: string): string {
  return (
    text
      .normalize("NFKC")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: fonts without a table of characters yield them
      .replaceAll(/[\0-\x08\x0b-\x1f]/g, "")
      // A word that was divided at the end of its line.
      .replaceAll(/(?<=\p{L})[-\u00ad\u2010]\n(?=\p{Ll})/gu, "")
      .trim()
  );
}
