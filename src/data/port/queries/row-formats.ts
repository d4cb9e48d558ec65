import { ProtocolFault } from "../protocol/message-reader.ts";
import type { Output } from "./output.ts";
import type { ResultColumn } from "./result-columns.ts";
import {
  CSV_WRITERS,
  DEFUSED_CSV_WRITERS,
  JSON_WRITERS,
  type WriteValue,
} from "./value-writers.ts";

/** What stands after the rows. */
export interface AnswerEnd {
  readonly hasMore: boolean;
  readonly next: string | null;
  readonly asOf: string;
}

/** Writes rows one after the other. The columns are those that are shown; a row may have more. */
export interface RowFormat {
  readonly contentType: string;
  readonly head: (output: Output) => void;
  /** @param row the body of a DataRow. Throws a ProtocolFault where it is shorter than its values. */
  readonly row: (output: Output, row: Buffer, isFirst: boolean) => void;
  readonly end: (output: Output, end: AnswerEnd) => void;
  /** Ends an answer that is cut. @param error the error as JSON, in one line. */
  readonly cut: (output: Output, error: { readonly json: string; readonly text: string }) => void;
}

export interface FormatOptions {
  readonly format: "json" | "csv" | "ndjson";
  readonly spreadsheet: boolean;
}

export function createFormat(
  { format, spreadsheet }: FormatOptions,
  columns: readonly ResultColumn[],
): RowFormat {
  if (format === "csv") return csvFormat(columns, spreadsheet);
  return format === "json" ? jsonFormat(columns) : ndjsonFormat(columns);
}

function jsonFormat(columns: readonly ResultColumn[]): RowFormat {
  const object = objectWriter(columns);
  const shown = columns.map(({ name, type }) => ({ name, type }));
  return {
    contentType: "application/json",
    head: (output) => output.text(`{"columns":${JSON.stringify(shown)},"data":[`),
    row(output, row, isFirst) {
      output.text(isFirst ? "\n" : ",\n");
      object(output, row);
    },
    end(output, { hasMore, next, asOf }) {
      const rest = JSON.stringify({ has_more: hasMore, next, as_of: asOf });
      output.text(`],${rest.slice(1)}`);
    },
    cut: (output, { json }) => output.text(`],"error":${json}}`),
  };
}

function ndjsonFormat(columns: readonly ResultColumn[]): RowFormat {
  const object = objectWriter(columns);
  return {
    contentType: "application/x-ndjson",
    head: () => undefined,
    row(output, row) {
      object(output, row);
      output.byte(LINE_FEED);
    },
    end: () => undefined,
    cut: (output, { json }) => output.text(`{"error":${json}}\n`),
  };
}

function csvFormat(columns: readonly ResultColumn[], isDefused: boolean): RowFormat {
  const writers = isDefused ? DEFUSED_CSV_WRITERS : CSV_WRITERS;
  const cells = columns.map(({ kind }, index) => ({
    start: Buffer.from(index === 0 ? "" : ","),
    write: writers[kind],
  }));
  return {
    contentType: "text/csv; charset=utf-8; header=present",
    head(output) {
      for (const [index, { name }] of columns.entries()) {
        const bytes = Buffer.from(name);
        if (index > 0) output.text(",");
        writers.text(output, bytes, 0, bytes.length);
      }
      output.text("\r\n");
    },
    row(output, row) {
      writeValues(output, row, cells, "");
      output.text("\r\n");
    },
    end: () => undefined,
    cut: (output, { text }) => output.text(`# error ${text.replaceAll(/[\r\n]+/g, " ")}\r\n`),
  };
}

const LINE_FEED = 0x0a;

function objectWriter(columns: readonly ResultColumn[]) {
  const cells = columns.map(({ name, kind }, index) => ({
    start: Buffer.from(`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`),
    write: JSON_WRITERS[kind],
  }));
  const isEmpty = columns.length === 0;
  return (output: Output, row: Buffer): void => {
    if (isEmpty) output.text("{");
    writeValues(output, row, cells, "null");
    output.text("}");
  };
}

const COUNT_BYTES = 2;
const LENGTH_BYTES = 4;

interface Cell {
  /** What stands before the value. */
  readonly start: Buffer;
  readonly write: WriteValue;
}

function writeValues(output: Output, row: Buffer, cells: readonly Cell[], none: string): void {
  let at = COUNT_BYTES;
  for (const { start, write } of cells) {
    output.copy(start, 0, start.length);
    const length = lengthAt(row, at);
    at += LENGTH_BYTES;
    if (length < 0) {
      output.text(none);
      continue;
    }
    write(output, row, at, at + length);
    at += length;
  }
}

function lengthAt(row: Buffer, at: number): number {
  if (at + LENGTH_BYTES > row.length) throw shortRow();
  const length =
    ((row[at] as number) << 24) |
    ((row[at + 1] as number) << 16) |
    ((row[at + 2] as number) << 8) |
    (row[at + 3] as number);
  if (at + LENGTH_BYTES + length > row.length) throw shortRow();
  return length;
}

function shortRow(): ProtocolFault {
  return new ProtocolFault("A row is shorter than its values.");
}

/** Returns the last values of a row as texts. */
export function lastValues(row: Buffer, count: number): readonly (string | null)[] {
  const values: (string | null)[] = [];
  let at = COUNT_BYTES;
  while (at < row.length) {
    const length = lengthAt(row, at);
    at += LENGTH_BYTES;
    values.push(length < 0 ? null : row.toString("utf8", at, at + length));
    at += Math.max(length, 0);
  }
  return values.slice(values.length - count);
}
