import type { Block, Reader, SourceFile } from "./reader.ts";
import { Paragraphs } from "./shared/paragraphs.ts";
import { readLines } from "./shared/read-text.ts";

/** Any text, such as source code: paragraphs are separated by empty lines and keep their lines. */
export const textReader: Reader = {
  format: "text",
  matches: () => true,
  read: readParagraphs,
};

async function* readParagraphs(file: SourceFile): AsyncGenerator<Block, void> {
  const paragraphs = new Paragraphs();
  for await (const lines of readLines(file)) {
    for (const line of lines) {
      const block = paragraphs.add(line);
      if (block !== undefined) yield block;
    }
  }
  const block = paragraphs.end();
  if (block !== undefined) yield block;
}
