import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../../../lib/json/json.ts";
import { parseRow } from "../row-work.ts";
import type { RowOrder } from "../values/row-order.ts";
import { LineFile, readLineFile } from "./line-file.ts";

/** UTF-16 units of rows that are sorted in memory; more are sorted in pieces on disk. */
const MEMORY_CHARACTERS = 40 * 1024 * 1024;
const MEMORY_ROWS = 200_000;

interface Keyed {
  readonly keys: readonly JsonValue[];
  readonly text: string;
}

/** A file of rows in the order as it was known then. */
interface Piece {
  readonly path: string;
  readonly version: number;
}

type Compare = (left: Keyed, right: Keyed) => number;

/** Sorts more rows than the memory holds; rows that the order does not tell apart stay as they came. */
export class ExternalSort {
  readonly #order: RowOrder;
  readonly #folder: string;
  readonly #pieces: Piece[] = [];
  #held: Keyed[] = [];
  #characters = 0;

  /** @param folder takes the pieces; its owner removes it. */
  constructor(order: RowOrder, folder: string) {
    this.#order = order;
    this.#folder = folder;
  }

  /** @param text a row as JSON. */
  add(text: string): void {
    this.#held.push(this.#keyed(text));
    this.#characters += text.length;
    if (this.#characters >= MEMORY_CHARACTERS || this.#held.length >= MEMORY_ROWS)
      this.#writePiece();
  }

  /** Yields all rows in order, once. */
  async *sorted(): AsyncGenerator<string, void> {
    if (this.#pieces.length === 0) {
      for (const { text } of this.#held.sort(this.#compare)) yield text;
      return;
    }
    this.#writePiece();
    const files: string[] = [];
    for (const piece of this.#pieces) files.push(await this.#inOrder(piece));
    yield* merged(files, this.#keyed, this.#compare);
  }

  readonly #keyed = (text: string): Keyed => ({ text, keys: this.#order.keysOf(parseRow(text)) });

  readonly #compare: Compare = (left, right) => this.#order.compare(left.keys, right.keys);

  #writePiece(): void {
    const path = join(this.#folder, `sorted-${this.#pieces.length}`);
    writeRows(path, this.#held.sort(this.#compare));
    this.#pieces.push({ path, version: this.#order.version });
    this.#held = [];
    this.#characters = 0;
  }

  /** Sorts a piece again that was in order before a later row told that a field has other values than numbers. */
  async #inOrder({ path, version }: Piece): Promise<string> {
    if (version === this.#order.version) return path;
    const rows: Keyed[] = [];
    for await (const text of readLineFile(createReadStream(path))) rows.push(this.#keyed(text));
    writeRows(path, rows.sort(this.#compare));
    return path;
  }
}

function writeRows(path: string, rows: readonly Keyed[]): void {
  const file = new LineFile(path);
  try {
    for (const { text } of rows) file.append(text);
    file.finish();
  } finally {
    file.close();
  }
}

/** Merges sorted files; of equal rows the one of the earlier file is first. */
async function* merged(
  files: readonly string[],
  keyed: (text: string) => Keyed,
  compare: Compare,
): AsyncGenerator<string, void> {
  const streams = files.map((path) => createReadStream(path));
  try {
    yield* mergedLines(streams.map(readLineFile), keyed, compare);
  } finally {
    // A source that is not read to its end does not close its file.
    for (const stream of streams) stream.destroy();
  }
}

async function* mergedLines(
  sources: readonly AsyncGenerator<string, void>[],
  keyed: (text: string) => Keyed,
  compare: Compare,
): AsyncGenerator<string, void> {
  const heads: (Keyed | undefined)[] = [];
  const advance = async (index: number) => {
    const next = await sources[index]?.next();
    heads[index] = next === undefined || next.done === true ? undefined : keyed(next.value);
  };
  for (const index of sources.keys()) await advance(index);
  for (;;) {
    let best = -1;
    for (const [index, head] of heads.entries()) {
      const leader = heads[best];
      if (head !== undefined && (leader === undefined || compare(head, leader) < 0)) best = index;
    }
    const found = heads[best];
    if (found === undefined) return;
    yield found.text;
    await advance(best);
  }
}
