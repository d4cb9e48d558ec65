import { utils, write } from "@e965/xlsx";
import { strToU8, zipSync } from "fflate";

/** Small documents of every format, by the name of its reader. Each has the text as its only paragraph or value. */
export const DOCUMENTS: Readonly<Record<string, (text: string) => Document>> = {
  text: (text) => ({ extension: "txt", bytes: strToU8(text) }),
  Markdown: (text) => ({ extension: "md", bytes: strToU8(`# Title\n\n${text}\n`) }),
  HTML: (text) => ({
    extension: "html",
    bytes: strToU8(`<!doctype html><title>Title</title><p>${text}</p>`),
  }),
  XML: (text) => ({ extension: "xml", bytes: strToU8(`<?xml version="1.0"?><a>${text}</a>`) }),
  CSV: (text) => ({ extension: "csv", bytes: strToU8(`Name;Note\nBolt;${text}\n`) }),
  JSON: (text) => ({ extension: "json", bytes: strToU8(JSON.stringify({ note: text })) }),
  JSONL: (text) => ({ extension: "jsonl", bytes: strToU8(`${JSON.stringify({ note: text })}\n`) }),
  PDF: (text) => ({ extension: "pdf", bytes: pdf(pagesOf(text)) }),
  DOCX: (text) => ({ extension: "docx", bytes: docx(`<w:p>${run(text)}</w:p>`) }),
  PPTX: (text) => ({ extension: "pptx", bytes: pptx([text]) }),
  ODT: (text) => ({ extension: "odt", bytes: odt(`<text:p>${text}</text:p>`) }),
  XLSX: (text) => ({ extension: "xlsx", bytes: workbook("xlsx", text) }),
  ODS: (text) => ({ extension: "ods", bytes: workbook("ods", text) }),
  XLS: (text) => ({ extension: "xls", bytes: workbook("biff8", text) }),
};

export interface Document {
  readonly extension: string;
  readonly bytes: Uint8Array;
}

export const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;

/** The body of a Word document, and its styles. */
export function docx(body: string, styles = ""): Uint8Array {
  const parts: Record<string, Uint8Array> = { "word/document.xml": strToU8(wordXml(body)) };
  if (styles !== "")
    parts["word/styles.xml"] = strToU8(`<w:styles xmlns:w="w">${styles}</w:styles>`);
  return zipSync(parts);
}

export function wordXml(body: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?><w:document xmlns:w="w"><w:body>${body}</w:body></w:document>`;
}

export function odt(body: string, manifest = ""): Uint8Array {
  const content = `<?xml version="1.0"?><office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b"><office:body><office:text>${body}</office:text></office:body></office:document-content>`;
  return zipSync({
    mimetype: [strToU8("application/vnd.oasis.opendocument.text"), { level: 0 }],
    "content.xml": strToU8(content),
    "META-INF/manifest.xml": strToU8(`<m:manifest xmlns:m="m">${manifest}</m:manifest>`),
  });
}

/** A presentation with a slide for each text; the files are in another order than the slides. */
export function pptx(texts: readonly string[]): Uint8Array {
  const parts: Record<string, Uint8Array> = {};
  const ids: string[] = [];
  const relations: string[] = [];
  for (const [index, text] of texts.entries()) {
    const file = `slides/slide${texts.length - index}.xml`;
    parts[`ppt/${file}`] = strToU8(slideXml(text));
    ids.push(`<p:sldId id="${256 + index}" r:id="rId${index}"/>`);
    relations.push(`<Relationship Id="rId${index}" Type="x/slide" Target="${file}"/>`);
  }
  parts["ppt/presentation.xml"] = strToU8(
    `<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst>${ids.join("")}</p:sldIdLst></p:presentation>`,
  );
  parts["ppt/_rels/presentation.xml.rels"] = strToU8(
    `<Relationships>${relations.join("")}</Relationships>`,
  );
  return zipSync(parts);
}

function slideXml(text: string): string {
  return `<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>Title</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp></p:sld>`;
}

function workbook(bookType: "xlsx" | "ods" | "biff8", text: string): Uint8Array {
  const book = utils.book_new();
  const sheet = utils.aoa_to_sheet([
    ["Name", "Note", "Since"],
    // The library writes at most 255 characters of a cell in the older format.
    ...piecesOf(text, 240).map((piece) => ["Bolt", piece, new Date(Date.UTC(2024, 4, 17))]),
  ]);
  utils.book_append_sheet(book, sheet, "Stock");
  return new Uint8Array(write(book, { type: "buffer", bookType }) as Buffer);
}

/** A PDF with a page for each text. Its font has no shapes, only a table of the characters. */
export function pdf(pages: readonly string[], trailer = ""): Uint8Array {
  const characters = [...new Set(pages.join(""))];
  const code = (character: string) => hex(characters.indexOf(character) + 1, 4);
  const unicode = (character: string) =>
    Array.from({ length: character.length }, (_, at) => hex(character.charCodeAt(at), 4)).join("");
  const map = characters.map((character) => `<${code(character)}> <${unicode(character)}>`);
  const cmap = `/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def 1 begincodespacerange <0000> <FFFF> endcodespacerange ${map.length} beginbfchar ${map.join(" ")} endbfchar endcmap end end`;
  const kids = pages.map((_, index) => `${6 + index * 2} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type0 /BaseFont /Plain /Encoding /Identity-H /DescendantFonts [4 0 R] /ToUnicode 5 0 R >>",
    "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Plain /CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> /DW 600 >>",
    stream(cmap),
  ];
  for (const [index, text] of pages.entries()) {
    const shown = text.split("\n").map((line) => `<${[...line].map(code).join("")}> Tj T*`);
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 1000 800] /Resources << /Font << /F 3 0 R >> >> /Contents ${7 + index * 2} 0 R >>`,
      stream(`BT /F 12 Tf 14 TL 40 700 Td ${shown.join(" ")} ET`),
    );
  }
  return pdfOf(objects, trailer);
}

/** A PDF of these objects, the first of which is the catalog. */
export function pdfOf(objects: readonly string[], trailer = ""): Uint8Array {
  let text = "%PDF-1.7\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const size = objects.length + 1;
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}`;
  return Buffer.from(
    `${text}${table}trailer\n<< /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`,
    "latin1",
  );
}

/** Pages with 40 lines of 80 characters: readers drop what is beside a page. */
function pagesOf(text: string): string[] {
  const lines = piecesOf(text, 80);
  return Array.from({ length: Math.ceil(lines.length / 40) }, (_, index) =>
    lines.slice(index * 40, index * 40 + 40).join("\n"),
  );
}

/** Divides a text after spaces. */
function piecesOf(text: string, size: number): string[] {
  return (
    text.match(new RegExp(`.{1,${size}}(?: |$)`, "gu"))?.map((piece) => piece.trim()) ?? [text]
  );
}

const stream = (text: string) => `<< /Length ${text.length} >>\nstream\n${text}\nendstream`;
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
