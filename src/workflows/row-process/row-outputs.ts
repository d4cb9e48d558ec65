import { constants, gzipSync } from "node:zlib";
import { storableText } from "../../lib/text/storable-text.ts";
import type { OnRowError } from "../definition/definition.ts";
import {
  CHUNK_BYTES,
  CHUNK_ROWS,
  ERROR_FIELD,
  MAX_ROW_BYTES,
  type Row,
  type RowError,
} from "../rows/row.ts";
import { ProgramFailure, parseRow, RowFault, setField } from "./row-work.ts";

/** A result as the process sends it. */
export type SentResult =
  | {
      readonly kind: "chunk";
      readonly output: string;
      readonly rows: number;
      readonly bytes: number;
      readonly data: Uint8Array;
    }
  | { readonly kind: "row_errors"; readonly count: number; readonly first: RowError }
  | { readonly kind: "condition"; readonly value: boolean }
  | { readonly kind: "value"; readonly value: unknown };

/** Closed chunks that wait to be sent. */
const FULL = 4;
const MESSAGE_MAX_CHARACTERS = 500;

interface OpenChunk {
  lines: string[];
  bytes: number;
}

/** Collects what a program yields: chunks of rows, and rows that it could not take. */
export class RowOutputs {
  readonly #onRowError: OnRowError;
  readonly #open = new Map<string, OpenChunk>();
  #closed: SentResult[] = [];
  #errors = 0;
  #firstError: RowError | undefined;

  constructor(onRowError: OnRowError) {
    this.#onRowError = onRowError;
  }

  /** The program should yield before it goes on with the same row. */
  get isFull(): boolean {
    return this.#closed.length >= FULL;
  }

  /** A row that cannot be taken fails the step. */
  get isFailing(): boolean {
    return this.#onRowError === "fail";
  }

  /** Nothing more is wanted: the step fails with the first error of a row. */
  get isOver(): boolean {
    return this.#onRowError === "fail" && this.#firstError !== undefined;
  }

  /** Throws a `RowFault` for a row that is too large or nested too deeply. */
  push(row: Row, output = "main"): void {
    this.pushLine(lineOf(row), output);
  }

  /** Passes the text of a row on. Throws a `RowFault` when it is too large. */
  pushLine(text: string, output = "main"): void {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > MAX_ROW_BYTES + 1)
      throw new RowFault("row_too_large", `The row has more than ${MAX_ROW_BYTES} bytes of JSON.`);
    let chunk = this.#open.get(output);
    if (chunk === undefined) {
      chunk = { lines: [], bytes: 0 };
      this.#open.set(output, chunk);
    }
    if (chunk.lines.length === CHUNK_ROWS || chunk.bytes + bytes > CHUNK_BYTES)
      this.#close(output, chunk);
    chunk.lines.push(text);
    chunk.bytes += bytes;
  }

  /** Counts a row that could not be taken; `line` is its text, undefined when it has none. */
  reject(error: RowError, line: string | undefined): void {
    const message = storableText(error.message.slice(0, MESSAGE_MAX_CHARACTERS));
    const told = { ...error, message };
    this.#errors += 1;
    this.#firstError ??= told;
    if (this.#onRowError !== "route") return;
    const row = { ...(line === undefined ? {} : parseRow(line)) };
    setField(row, ERROR_FIELD, told);
    try {
      this.push(row, "errors");
    } catch (thrown) {
      if (!(thrown instanceof RowFault)) throw thrown;
      this.push({ [ERROR_FIELD]: told }, "errors");
    }
  }

  /** Does the work of one row; a `RowFault` makes it a row that could not be taken. */
  attempt(line: { readonly text: string; readonly number: number }, work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const { code, message } = rowFaultOf(thrown);
      this.reject({ row: line.number, code, message }, line.text);
    }
  }

  condition(value: boolean): void {
    this.#closed.push({ kind: "condition", value });
  }

  value(value: unknown): void {
    this.#closed.push({ kind: "value", value });
  }

  /** Returns what is ready to be sent, once. */
  take(): readonly SentResult[] {
    const results = this.#closed;
    this.#closed = [];
    if (this.#errors > 0 && this.#firstError !== undefined)
      results.push({ kind: "row_errors", count: this.#errors, first: this.#firstError });
    this.#errors = 0;
    return results;
  }

  end(): readonly SentResult[] {
    for (const [output, chunk] of this.#open) this.#close(output, chunk);
    return this.take();
  }

  #close(output: string, chunk: OpenChunk): void {
    const rows = chunk.lines.length;
    if (rows === 0) return;
    chunk.lines.push("");
    const data = gzipSync(chunk.lines.join("\n"), { level: constants.Z_BEST_SPEED });
    const { bytes } = chunk;
    this.#closed.push({ kind: "chunk", output, rows, bytes, data });
    chunk.lines = [];
    chunk.bytes = 0;
  }
}

function lineOf(row: Row): string {
  try {
    return JSON.stringify(row);
  } catch (thrown) {
    throw tooDeep(thrown);
  }
}

/** A stack that overflows and a text that grows beyond its limit are faults of one row, anything else is not. */
function rowFaultOf(thrown: unknown): RowFault {
  if (thrown instanceof RowFault) return thrown;
  if (thrown instanceof ProgramFailure) throw thrown;
  if (thrown instanceof RangeError) return tooDeep(thrown);
  throw thrown;
}

function tooDeep(cause: unknown): RowFault {
  return new RowFault("row_too_large", "The row is nested too deeply or grew too large.", {
    cause,
  });
}
