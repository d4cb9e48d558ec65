// The program of the process that reads documents: each job is a file, each result a batch of its blocks.
import { storableText } from "../../lib/text/storable-text.ts";
import { serveJobs } from "../../lib/worker/serve-jobs.ts";
import type { ReadJob } from "./open-document-reader.ts";
import { type Block, type Cell, DAMAGED, tooManyCharacters, UnreadableFile } from "./reader.ts";
import { findReader } from "./registry.ts";
import { openSourceFile } from "./shared/source-file.ts";
import { storableBlock } from "./storable-block.ts";

/** Longer blocks are divided, because the server holds some in memory. */
const BLOCK_MAX_CHARACTERS = 16_384;
const BATCH_CHARACTERS = 32_768;
/** Blocks of a batch: short ones have a cost of their own. */
const BATCH_BLOCKS = 500;
const NAME_MAX_CHARACTERS = 200;

serveJobs((job) => readDocument(job as ReadJob));

async function* readDocument({ path, filename, limits }: ReadJob): AsyncGenerator<Block[], void> {
  try {
    const file = await openSourceFile(path, filename, limits);
    const reader = await findReader(file);
    let characters = 0;
    let batch: Block[] = [];
    let batched = 0;
    for await (const block of reader.read(file)) {
      for (const piece of divided(block)) {
        const length = lengthOf(piece);
        characters += length;
        if (characters > limits.characters) throw tooManyCharacters(limits);
        batch.push(piece);
        batched += length;
        if (batched < BATCH_CHARACTERS && batch.length < BATCH_BLOCKS) continue;
        yield batch;
        batch = [];
        batched = 0;
      }
    }
    if (batch.length > 0) yield batch;
    if (characters === 0)
      throw new UnreadableFile("unsupported_file", reader.noText ?? "The file has no text.");
  } catch (thrown) {
    throw unreadable(thrown);
  }
}

function lengthOf(block: Block): number {
  if (block.kind !== "row") return block.text.length;
  return block.cells.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
}

function* divided(found: Block): Generator<Block, void> {
  const block = storableBlock(found);
  if (block === undefined) return;
  if (block.kind === "row") yield* dividedRow(block);
  else if (block.text.length <= BLOCK_MAX_CHARACTERS) yield block;
  else {
    const pieces = piecesOf(block.text);
    const last = pieces.length - 1;
    // A heading of this length is none.
    const { level: _, ...rest } = { level: 0, ...block, kind: "paragraph" as const };
    for (const [index, text] of pieces.entries())
      yield index < last ? { ...rest, text, isCut: true } : { ...rest, text };
  }
}

/** A long row becomes several. */
function* dividedRow(row: Extract<Block, { kind: "row" }>): Generator<Block, void> {
  if (lengthOf(row) <= BLOCK_MAX_CHARACTERS) {
    yield row;
    return;
  }
  let cells: Cell[] = [];
  let length = 0;
  for (const [name, value] of row.cells) {
    for (const piece of piecesOf(value)) {
      if (length + piece.length > BLOCK_MAX_CHARACTERS && cells.length > 0) {
        yield { ...row, cells };
        cells = [];
        length = 0;
      }
      // The cut may divide a character.
      cells.push([storableText(name.slice(0, NAME_MAX_CHARACTERS)), piece]);
      length += name.length + piece.length;
    }
  }
  if (cells.length > 0) yield { ...row, cells };
}

function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(text.length, start + BLOCK_MAX_CHARACTERS);
    // Never between the halves of a character.
    if (end < text.length && text.charCodeAt(end - 1) >> 10 === 0x36) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** Errors of the system may pass, any other comes from the content. Neither message is for people. */
function unreadable(thrown: unknown): UnreadableFile {
  if (thrown instanceof UnreadableFile) return thrown;
  const isOfSystem = thrown instanceof Error && "syscall" in thrown;
  return isOfSystem
    ? new UnreadableFile("server_error", "The stored file could not be read.")
    : new UnreadableFile("invalid_file", DAMAGED);
}
