import { Readable } from "node:stream";
import { CsvError, type Parser, parse } from "csv-parse";
import { columnNames } from "../row-process/files/cell-types.ts";
import { MAX_ROW_BYTES, type Row } from "../rows/row.ts";
import { noCsv, rowTooLarge, tooManyColumns } from "./answer-failures.ts";

/** A row is an object with all columns, however short its line is. */
const MAX_COLUMNS = 10_000;
/** The parser's own limit counts no delimiters, so that a line of them alone would have no end. */
const MAX_RECORD_BYTES = 2 * MAX_ROW_BYTES;

/** Makes rows of CSV whose first line names the columns. Rejects with a `StepFailure`. */
export async function readCsv(
  pieces: AsyncIterable<Uint8Array>,
  delimiter: string,
  push: (row: Row, bytes: number) => Promise<void>,
): Promise<void> {
  const parser = parse({
    bom: true,
    delimiter,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_BYTES,
  });
  const source = Readable.from(untilRecordTooLong(pieces, parser));
  source.on("error", (thrown) => parser.destroy(thrown));
  source.pipe(parser);
  let columns: readonly string[] | undefined;
  let namesLength = 0;
  try {
    for await (const record of parser as AsyncIterable<readonly string[]>) {
      if (columns === undefined) {
        if (record.length > MAX_COLUMNS) throw tooManyColumns(MAX_COLUMNS);
        columns = columnNames(record);
        namesLength = lengthOf(columns);
        continue;
      }
      const row = Object.fromEntries(columns.map((name, index) => [name, record[index] ?? null]));
      await push(row, namesLength + lengthOf(record));
    }
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    const { lines } = parser.info;
    throw thrown.code === "CSV_MAX_RECORD_SIZE" ? rowTooLarge(`line ${lines}`) : noCsv(lines);
  } finally {
    source.destroy();
  }
}

/** Ends when the parser has taken much and no record came of it. */
async function* untilRecordTooLong(
  pieces: AsyncIterable<Uint8Array>,
  { info }: Pick<Parser, "info">,
): AsyncGenerator<Uint8Array> {
  let ended = 0;
  let sinceEnded = 0;
  for await (const piece of pieces) {
    const nowEnded = info.records + info.empty_lines;
    if (nowEnded !== ended) sinceEnded = 0;
    ended = nowEnded;
    sinceEnded += piece.length;
    if (sinceEnded > MAX_RECORD_BYTES) throw rowTooLarge(`line ${info.lines}`);
    yield piece;
  }
}

/** About what its JSON has. */
function lengthOf(texts: readonly string[]): number {
  let length = 0;
  for (const text of texts) length += text.length + 8;
  return length;
}
