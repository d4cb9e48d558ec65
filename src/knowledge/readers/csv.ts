import type { CsvError } from "csv-parse";
import { type Block, type Reader, type SourceFile, UnreadableFile } from "./reader.ts";
import { isCsvError, readCsvRecords } from "./shared/csv-records.ts";
import { TableRows } from "./shared/table-rows.ts";

const EXTENSIONS = new Set(["csv", "tsv", "tab"]);
const RECORD_MAX_CHARACTERS = 1_048_576;

/** Comma-separated values, with whichever delimiter, and TSV. */
export const csvReader: Reader = {
  format: "CSV",
  matches: (file) => EXTENSIONS.has(file.extension),
  read: readRecords,
};

async function* readRecords(file: SourceFile): AsyncGenerator<Block, void> {
  const delimiter = file.extension === "csv" ? undefined : "\t";
  const table = new TableRows();
  try {
    const records = readCsvRecords(file, { delimiter, recordMax: RECORD_MAX_CHARACTERS });
    for await (const record of records) {
      const row = table.row(record);
      if (row !== undefined) yield row;
    }
  } catch (thrown) {
    throw isCsvError(thrown) ? notATable(thrown) : thrown;
  }
}

function notATable({ lines }: CsvError): UnreadableFile {
  const line = typeof lines === "number" ? ` near line ${lines}` : "";
  return new UnreadableFile(
    "invalid_file",
    `The table has a quotation mark${line} that is not closed.`,
  );
}
