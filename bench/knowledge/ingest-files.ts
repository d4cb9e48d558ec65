import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DOCUMENTS, docx, odt, pptx, run } from "../../tests/support/documents/build-documents.ts";
import { createRandom } from "../../tests/support/faults/random.ts";

const WORDS = 20_000;
const WORDS_A_SENTENCE = 14;
const SENTENCES_A_PARAGRAPH = 6;
const PARAGRAPHS_A_SLIDE = 2;
const SAMPLE_CHARACTERS = 20_000;

export interface MadeFiles {
  readonly bytes: number;
  /** The bytes of the text in each file, without markup. */
  readonly texts: readonly number[];
}

type Format = readonly [extension: string, build: (paragraphs: readonly string[]) => Uint8Array];

/** In this order, again and again. */
const FORMATS: readonly Format[] = [
  ["txt", (paragraphs) => Buffer.from(paragraphs.join("\n\n"))],
  ["md", (paragraphs) => Buffer.from(paragraphs.map(withHeading("# ")).join("\n\n"))],
  [
    "html",
    (paragraphs) =>
      Buffer.from(`<!doctype html>${paragraphs.map((text) => `<p>${text}</p>`).join("\n")}`),
  ],
  ["csv", (paragraphs) => Buffer.from(rowsOf(paragraphs))],
  [
    "json",
    (paragraphs) => Buffer.from(JSON.stringify(paragraphs.map((note, id) => ({ id, note })))),
  ],
  ["pdf", (paragraphs) => built("PDF", paragraphs)],
  ["docx", (paragraphs) => docx(paragraphs.map((text) => `<w:p>${run(text)}</w:p>`).join(""))],
  ["xlsx", (paragraphs) => built("XLSX", paragraphs)],
  ["odt", (paragraphs) => odt(paragraphs.map((text) => `<text:p>${text}</text:p>`).join(""))],
  ["pptx", (paragraphs) => pptx(slidesOf(paragraphs))],
];

/** Writes files of all formats, of about the same size, with `bytes` in total: the same ones each time. */
export async function makeFiles(
  folder: string,
  { files, bytes }: { readonly files: number; readonly bytes: number },
): Promise<MadeFiles> {
  await mkdir(folder, { recursive: true });
  const write = createWriter();
  const sample = write(SAMPLE_CHARACTERS);
  const sampleLength = sample.join("").length;
  const texts: number[] = [];
  let written = 0;
  for (let index = 0; index < files; index += 1) {
    const [extension, build] = FORMATS[index % FORMATS.length] as Format;
    const growth = build(sample).length / sampleLength;
    const paragraphs = write(bytes / files / growth);
    const content = build(paragraphs);
    await writeFile(join(folder, `${String(index).padStart(4, "0")}.${extension}`), content);
    written += content.length;
    texts.push(paragraphs.reduce((sum, text) => sum + text.length, 0));
  }
  return { bytes: written, texts };
}

/** Returns a function that writes paragraphs with so many characters in total. Frequent words are frequent. */
function createWriter() {
  const random = createRandom(1);
  const letters = (length: number) =>
    Array.from({ length }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join("");
  const words = Array.from({ length: WORDS }, () => letters(2 + Math.floor(random() * 9)));
  const word = () => words[Math.floor(random() ** 3 * WORDS)] ?? "";
  const sentence = () => `${Array.from({ length: WORDS_A_SENTENCE }, word).join(" ")}.`;
  return (characters: number): readonly string[] => {
    const paragraphs: string[] = [];
    for (let written = 0; written < characters; written += paragraphs.at(-1)?.length ?? 0)
      paragraphs.push(Array.from({ length: SENTENCES_A_PARAGRAPH }, sentence).join(" "));
    return paragraphs;
  };
}

function withHeading(mark: string) {
  return (text: string, index: number) =>
    index % 10 === 0 ? `${mark}Section ${index / 10}\n\n${text}` : text;
}

function rowsOf(paragraphs: readonly string[]): string {
  const sentences = paragraphs.flatMap((text) => text.split(". "));
  return ["Number;Note", ...sentences.map((text, index) => `${index};${text}`)].join("\n");
}

function slidesOf(paragraphs: readonly string[]): string[] {
  const count = Math.ceil(paragraphs.length / PARAGRAPHS_A_SLIDE);
  return Array.from({ length: count }, (_, index) =>
    paragraphs.slice(index * PARAGRAPHS_A_SLIDE, (index + 1) * PARAGRAPHS_A_SLIDE).join(" "),
  );
}

function built(name: "PDF" | "XLSX", paragraphs: readonly string[]): Uint8Array {
  return DOCUMENTS[name]?.(paragraphs.join(" ")).bytes ?? new Uint8Array();
}
