import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { constants, gunzip, gzip } from "node:zlib";
import {
  CHUNK_BYTES,
  CHUNK_ROWS,
  MAX_ROW_BYTES,
  type MadeRow,
  type Row,
  type RowChunk,
  textOfRow,
} from "./row.ts";

const compress = promisify(gzip);
const decompress = promisify(gunzip);
/** Rows are written once and read a few times: speed counts more than the last tenth of their size. */
const LEVEL = constants.Z_BEST_SPEED;
/** A chunk is closed before a row would exceed its size, so only a single row can be as large as this. */
const MAX_CHUNK_BYTES = CHUNK_BYTES + MAX_ROW_BYTES + 1;

/** Of JSON, parsed at once: a few milliseconds, whatever it is. */
const TURN_CHARACTERS = 128 * 1024;

/** A row that cannot be stored. */
export class RowTooLarge extends Error {
  override readonly name = "RowTooLarge";

  constructor() {
    super(`A row has more than ${MAX_ROW_BYTES} bytes of JSON.`);
  }
}

/** Collects rows into chunks. `push` and `end` return the chunk that they closed. */
export class ChunkBuilder {
  #lines: string[] = [];
  #bytes = 0;

  /** Throws `RowTooLarge`. */
  push(row: MadeRow): Promise<RowChunk> | undefined {
    const line = `${textOfRow(row)}\n`;
    const bytes = Buffer.byteLength(line);
    if (bytes > MAX_ROW_BYTES + 1) throw new RowTooLarge();
    const isFull = this.#lines.length === CHUNK_ROWS || this.#bytes + bytes > CHUNK_BYTES;
    const closed = isFull ? this.end() : undefined;
    this.#lines.push(line);
    this.#bytes += bytes;
    return closed;
  }

  end(): Promise<RowChunk> | undefined {
    if (this.#lines.length === 0) return undefined;
    const rows = this.#lines.length;
    const bytes = this.#bytes;
    const text = this.#lines.join("");
    this.#lines = [];
    this.#bytes = 0;
    return compress(text, { level: LEVEL }).then((data) => ({ rows, bytes, data }));
  }
}

/** Returns rows as chunks. Throws `RowTooLarge`. */
export async function* packRows(
  rows: Iterable<Row> | AsyncIterable<Row>,
): AsyncGenerator<RowChunk> {
  const builder = new ChunkBuilder();
  for await (const row of rows) {
    const closed = builder.push(row);
    if (closed !== undefined) yield await closed;
  }
  const last = builder.end();
  if (last !== undefined) yield await last;
}

/** Returns the lines of a chunk as bytes of NDJSON. */
export function unpackText(chunk: RowChunk): Promise<Buffer> {
  return decompress(chunk.data, { maxOutputLength: MAX_CHUNK_BYTES });
}

/** Returns the JSON texts of a chunk's rows. */
export async function unpackTexts(chunk: RowChunk): Promise<string[]> {
  return (await unpackText(chunk)).toString("utf8").split("\n").slice(0, -1);
}

/** Returns the rows of a chunk. In a turn of the event loop some of them are parsed, or a single long one. */
export async function unpackRows(chunk: RowChunk): Promise<Row[]> {
  const rows: Row[] = [];
  let parsed = 0;
  for (const line of await unpackTexts(chunk)) {
    if (parsed > 0 && parsed + line.length > TURN_CHARACTERS) {
      await nextTurn();
      parsed = 0;
    }
    rows.push(JSON.parse(line) as Row);
    parsed += line.length;
  }
  return rows;
}

/** Compresses lines that are no rows, without a limit of a line. */
export async function packLines(lines: readonly string[]): Promise<RowChunk> {
  const text = lines.map((line) => `${line}\n`).join("");
  const data = await compress(text, { level: LEVEL });
  return { rows: lines.length, bytes: Buffer.byteLength(text), data };
}

/** Returns the lines that `packLines` compressed. */
export async function unpackLines({ data, bytes }: RowChunk): Promise<string[]> {
  const text = await decompress(data, { maxOutputLength: Math.max(bytes, 1) });
  return text.toString("utf8").split("\n").slice(0, -1);
}
