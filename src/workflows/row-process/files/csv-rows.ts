import { Readable } from "node:stream";
import { type CsvError, parse } from "csv-parse";
import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import { readText } from "../../../knowledge/readers/shared/read-text.ts";
import type { JsonObject } from "../../../lib/json.ts";
import { MAX_ROW_BYTES } from "../../rows/row.ts";
import { ProgramFailure, RowFault, setField } from "../row-work.ts";
import { type ColumnType, columnNames, columnType, typedValue } from "./cell-types.ts";
import { COLUMNS_MAX, type FileRow, type FileSettings } from "./file-rows.ts";

const DELIMITERS = [",", ";", "\t", "|"] as const;
const LOOK_LINES = 20;
/** Records by which the types of the columns are chosen. */
const SAMPLE_RECORDS = 1_000;

/** Yields the records below the header. */
export async function* readCsvRows(
  file: SourceFile,
  { types, delimiter }: FileSettings,
): AsyncGenerator<FileRow, void> {
  const pieces = readText(file);
  const first = await pieces.next();
  if (first.done === true) return;
  const usual = file.extension === "tsv" || file.extension === "tab" ? "\t" : undefined;
  const parser = parse({
    delimiter: delimiter ?? usual ?? delimiterOf(first.value),
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_BYTES,
  });
  const source = Readable.from(withFirst(first.value, pieces));
  source.on("error", (error) => parser.destroy(error)).pipe(parser);
  try {
    yield* rowsOf(parser as AsyncIterable<string[]>, types);
  } catch (thrown) {
    throw isCsvError(thrown) ? failureOf(thrown) : thrown;
  } finally {
    source.destroy();
    parser.destroy();
  }
}

async function* rowsOf(
  records: AsyncIterable<string[]>,
  types: FileSettings["types"],
): AsyncGenerator<FileRow, void> {
  let names: readonly string[] | undefined;
  let sample: string[][] | undefined = types === "infer" ? [] : undefined;
  let columns: readonly ColumnType[] | undefined;
  const taken = (record: string[]) => rowOf(record, names ?? [], columns);
  const endSample = function* (held: readonly string[][]): Generator<FileRow, void> {
    columns = (names ?? []).map((_, at) => columnType(held.map((record) => record[at] ?? "")));
    for (const record of held) yield taken(record);
  };
  for await (const record of records) {
    if (names === undefined) {
      if (record.length > COLUMNS_MAX) throw tooManyColumns(record.length);
      names = columnNames(record);
      continue;
    }
    if (sample === undefined) {
      yield taken(record);
      continue;
    }
    sample.push(record);
    if (sample.length < SAMPLE_RECORDS) continue;
    yield* endSample(sample);
    sample = undefined;
  }
  if (sample !== undefined) yield* endSample(sample);
}

function rowOf(
  record: readonly string[],
  names: readonly string[],
  columns: readonly ColumnType[] | undefined,
): FileRow {
  const row: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const text = record[index] ?? "";
    const type = columns?.[index];
    setField(row, name, type === undefined ? text : typedValue(text, type));
  }
  if (record.length <= names.length) return { row: row as JsonObject };
  const message = `The record has ${record.length} fields, and the header ${names.length}.`;
  return { fault: new RowFault("wrong_record", message), row: row as JsonObject };
}

async function* withFirst(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* rest;
}

/** The delimiter that the first lines have most often, outside quotation marks. */
function delimiterOf(text: string): string {
  const bare = text.replaceAll(/"[^"]*"/g, "").split(/\r\n?|\n/, LOOK_LINES);
  const count = (delimiter: string) =>
    bare.reduce((sum, line) => sum + line.split(delimiter).length - 1, 0);
  const [best = ","] = [...DELIMITERS].sort((left, right) => count(right) - count(left));
  return best;
}

function isCsvError(thrown: unknown): thrown is CsvError {
  return thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("CSV_");
}

function failureOf(thrown: CsvError): ProgramFailure {
  const { code, lines } = thrown;
  const place = typeof lines === "number" ? ` near line ${lines}` : "";
  const message =
    code === "CSV_MAX_RECORD_SIZE"
      ? `A record${place} has more than ${MAX_ROW_BYTES} bytes: a quotation mark may not be closed.`
      : `The table has a quotation mark${place} that is not closed.`;
  return new ProgramFailure("unreadable_file", message, { cause: thrown });
}

function tooManyColumns(count: number): ProgramFailure {
  return new ProgramFailure(
    "unreadable_file",
    `The table has ${count} columns, more than the ${COLUMNS_MAX} allowed.`,
  );
}
