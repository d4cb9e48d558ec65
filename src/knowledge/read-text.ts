import { ServiceError } from "../core/service-error.ts";
import { rowLines } from "./ingest/chunks/row-lines.ts";
import type { DocumentReader, DocumentSource } from "./readers/open-document-reader.ts";
import { type Block, UnreadableFile } from "./readers/reader.ts";

/** The text of a document, for a person's own question. */
export interface DocumentText {
  readonly text: string;
  /** The number of the last page or slide that was read; undefined where the format has none. */
  readonly pages: number | undefined;
  /** The document goes on: the text was cut at its limit. */
  readonly isCut: boolean;
}

/**
 * Reads the text of a document, its headings marked as Markdown does and each row of a table as a line. Reading ends at
 * the limit. Rejects with `unsupported_media_type`, `invalid_value`, `overloaded`, or the signal's reason.
 *
 * @param maxCharacters UTF-16 units.
 */
export async function readText(
  reader: Pick<DocumentReader, "read">,
  source: DocumentSource,
  { maxCharacters, signal }: { readonly maxCharacters: number; readonly signal: AbortSignal },
): Promise<DocumentText> {
  let text = "";
  let pages: number | undefined;
  let last: Block | undefined;
  try {
    for await (const batch of reader.read(source, signal)) {
      for (const block of batch) {
        text += gapBetween(last, block) + textOf(block);
        pages = block.page ?? pages;
        last = block;
      }
      if (text.length > maxCharacters) {
        return { text: cutAt(text, maxCharacters), pages, isCut: true };
      }
    }
  } catch (thrown) {
    throw thrown instanceof UnreadableFile ? refusalOf(thrown) : thrown;
  }
  return { text, pages, isCut: false };
}

function gapBetween(last: Block | undefined, block: Block): string {
  if (last === undefined) return "";
  if (last.kind === "paragraph" && last.isCut === true) return "";
  return last.kind === "row" && block.kind === "row" ? "\n" : "\n\n";
}

function textOf(block: Block): string {
  if (block.kind === "row") return rowLines(block.cells, Number.POSITIVE_INFINITY).join("\n");
  return block.kind === "heading" ? `${"#".repeat(block.level)} ${block.text}` : block.text;
}

/** Never between the halves of a character. */
function cutAt(text: string, length: number): string {
  const isWithin = text.charCodeAt(length - 1) >> 10 === 0x36;
  return text.slice(0, isWithin ? length - 1 : length);
}

function refusalOf({ code, message, cause }: UnreadableFile): ServiceError {
  const details = { param: "file", cause };
  switch (code) {
    case "unsupported_file":
      return new ServiceError("unsupported_media_type", message, details);
    case "invalid_file":
      return new ServiceError("invalid_value", message, details);
    case "server_error":
      return new ServiceError("overloaded", `${message} Send the document again.`, details);
  }
}
