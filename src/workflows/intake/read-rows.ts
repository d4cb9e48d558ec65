import { setImmediate as nextTurn } from "node:timers/promises";
import { ServiceError } from "../../core/service-error.ts";
import { keepLargeNumbers } from "../../lib/json/exact-json.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";
import { ChunkBuilder, RowTooLarge } from "../rows/pack-rows.ts";
import { MAX_ROW_BYTES, type Row, type RowChunk } from "../rows/row.ts";
import { ElementScanner } from "./element-scanner.ts";

/** Rows that one webhook may bring. */
export const WEBHOOK_ROWS_MAX = 100_000;
/** So much is parsed at once, which takes a few milliseconds. */
const SLICE_BYTES = 128 * 1024;
/** White space and escapes may make an element longer than its row; beyond this it is not even parsed. */
const ELEMENT_MAX_BYTES = 3 * MAX_ROW_BYTES;
/** Chunks that are compressed at the same time, in the threads of zlib. */
const COMPRESSING_MAX = 4;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export interface ReceivedRows {
  readonly chunks: readonly RowChunk[];
  readonly rows: number;
}

/**
 * Reads the rows of a webhook's JSON body: an object is one row, an array is its elements; what is no object becomes
 * `{value}`. Integers that a number cannot hold become text. The body is parsed in slices, so that a long one does not
 * hold up the event loop. Rejects with `invalid_json`, `invalid_value` and `request_too_large`.
 */
export async function readRows(body: Uint8Array, maxDepth: number): Promise<ReceivedRows> {
  const packing = new Packing();
  const scanner = new ElementScanner(body);
  const start = scanner.start();
  if (start === "end") throw notJson(undefined, "it is empty");
  if (start === "scalar") {
    parseWhole(body, maxDepth);
    throw new ServiceError("invalid_value", "Send a JSON object or an array as the body.");
  }
  if (start === "object") {
    await packing.push([parseWhole(body, maxDepth)]);
    return packing.end();
  }
  for (;;) {
    const slice = scanner.take({ bytes: SLICE_BYTES, elementBytes: ELEMENT_MAX_BYTES });
    if (slice === "too large") throw rowTooLarge();
    if (slice === "broken")
      throw notJson(undefined, `it is broken off or wrong after row ${packing.rows}`);
    if (slice === undefined) return packing.end();
    await packing.push(parseElements(slice, maxDepth, packing.rows));
    await nextTurn();
  }
}

/** Collects rows into chunks, a few of which are compressed side by side. */
class Packing {
  readonly #builder = new ChunkBuilder();
  readonly #chunks: Promise<RowChunk>[] = [];
  rows = 0;

  async push(values: readonly unknown[]): Promise<void> {
    this.rows += values.length;
    if (this.rows > WEBHOOK_ROWS_MAX) {
      throw new ServiceError(
        "request_too_large",
        `The body has more than ${WEBHOOK_ROWS_MAX} rows; send them in several calls.`,
      );
    }
    for (const value of values) this.#add(this.#pushed(toRow(value)));
    await this.#chunks.at(-COMPRESSING_MAX);
  }

  async end(): Promise<ReceivedRows> {
    this.#add(this.#builder.end());
    return { chunks: await Promise.all(this.#chunks), rows: this.rows };
  }

  #pushed(row: Row): Promise<RowChunk> | undefined {
    try {
      return this.#builder.push(row);
    } catch (thrown) {
      throw thrown instanceof RowTooLarge ? rowTooLarge() : thrown;
    }
  }

  #add(chunk: Promise<RowChunk> | undefined): void {
    if (chunk === undefined) return;
    // Whoever awaits it later gets the failure.
    chunk.catch(() => undefined);
    this.#chunks.push(chunk);
  }
}

function toRow(value: unknown): Row {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return (isObject ? value : { value }) as Row;
}

function parseWhole(body: Uint8Array, maxDepth: number): unknown {
  if (body.length > ELEMENT_MAX_BYTES) throw rowTooLarge();
  return parseSlice(body, maxDepth);
}

function parseElements(slice: Uint8Array, maxDepth: number, before: number): readonly unknown[] {
  const text = `[${decode(slice, maxDepth - 1)}]`;
  try {
    return JSON.parse(keepLargeNumbers(text)) as readonly unknown[];
  } catch (thrown) {
    throw notJson(thrown, `see the rows after row ${before}`);
  }
}

function parseSlice(bytes: Uint8Array, maxDepth: number): unknown {
  const text = decode(bytes, maxDepth);
  try {
    return JSON.parse(keepLargeNumbers(text));
  } catch (thrown) {
    throw notJson(thrown, "it does not parse");
  }
}

function decode(bytes: Uint8Array, maxDepth: number): string {
  if (isDeeperThan(maxDepth, bytes)) throw notJson(undefined, "it nests too deeply");
  try {
    return utf8.decode(bytes);
  } catch (thrown) {
    throw notJson(thrown, "it is not UTF-8");
  }
}

/** The runtime's own error is not the cause, because it may contain a part of the body. */
function notJson(_thrown: unknown, reason: string): ServiceError {
  return new ServiceError("invalid_json", `The body is not valid JSON: ${reason}.`);
}

function rowTooLarge(): ServiceError {
  return new ServiceError("request_too_large", new RowTooLarge().message);
}
