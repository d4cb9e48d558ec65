import type { CsvError } from "csv-parse";
import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import { isCsvError, readCsvRecords } from "../../../knowledge/readers/shared/csv-records.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { MAX_ROW_BYTES } from "../../rows/row.ts";
import { ProgramFailure, RowFault, setField } from "../row-work.ts";
import { type ColumnType, columnNames, columnType, typedValue } from "./cell-types.ts";
import { COLUMNS_MAX, type FileRow, type FileSettings } from "./file-rows.ts";

/** Records by which the types of the columns are chosen. */
const SAMPLE_RECORDS = 1_000;

/** Yields the records below the header. */
export async function* readCsvRows(
  file: SourceFile,
  { types, delimiter }: FileSettings,
): AsyncGenerator<FileRow, void> {
  const usual = file.extension === "tsv" || file.extension === "tab" ? "\t" : undefined;
  const records = readCsvRecords(file, { delimiter: delimiter ?? usual, recordMax: MAX_ROW_BYTES });
  try {
    yield* rowsOf(records, types);
  } catch (thrown) {
    throw isCsvError(thrown) ? failureOf(thrown) : thrown;
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
