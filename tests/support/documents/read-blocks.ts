import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type DocumentReader,
  type DocumentReaderOptions,
  openDocumentReader,
} from "../../../src/knowledge/readers/open-document-reader.ts";
import { type Block, UnreadableFile } from "../../../src/knowledge/readers/reader.ts";

/** A document reader with a folder for the files of a test. */
export interface ReaderStage {
  readonly reader: DocumentReader;
  readonly folder: string;
  /** Writes a file and reads all of it. */
  readonly read: (
    filename: string,
    content: string | Uint8Array,
    signal?: AbortSignal,
  ) => Promise<Block[]>;
  /** Like `read`, for a file that cannot be read. */
  readonly refusal: (filename: string, content: string | Uint8Array) => Promise<UnreadableFile>;
  readonly close: () => void;
}

export function openReaderStage(options: Partial<DocumentReaderOptions> = {}): ReaderStage {
  const folder = mkdtempSync(join(tmpdir(), "documents-"));
  const reader = openDocumentReader({ processes: 1, ...options });
  const read: ReaderStage["read"] = async (filename, content, signal) => {
    const path = join(folder, "stored");
    writeFileSync(path, content);
    const blocks: Block[] = [];
    for await (const batch of reader.read(
      { path, filename },
      signal ?? new AbortController().signal,
    ))
      blocks.push(...batch);
    return blocks;
  };
  return {
    reader,
    folder,
    read,
    async refusal(filename, content) {
      try {
        await read(filename, content);
      } catch (thrown) {
        if (thrown instanceof UnreadableFile) return thrown;
        throw thrown;
      }
      throw new Error(`${filename} was read`);
    },
    close() {
      reader.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A block as one text: cells as `name=value`, a heading with its marks. */
export function blockLine(block: Block): string {
  if (block.kind === "row") return block.cells.map(([name, value]) => `${name}=${value}`).join(" ");
  return block.kind === "heading" ? `${"#".repeat(block.level)} ${block.text}` : block.text;
}

/** All text of a document, its blocks separated by line feeds. */
export function textOf(blocks: readonly Block[]): string {
  return blocks
    .map((block) =>
      block.kind === "row" ? block.cells.map(([, value]) => value).join(" ") : block.text,
    )
    .join("\n");
}
