// The program of the process that reads tables that others sent: each job is a file.
import { READ_LIMITS, type SourceFile, UnreadableFile } from "../../../knowledge/readers/reader.ts";
import { openSourceFile } from "../../../knowledge/readers/shared/source-file.ts";
import { parseExactJson } from "../../../lib/json/exact-json.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { serveJobs } from "../../../lib/worker/serve-jobs.ts";
import { csvRows } from "./csv-rows.ts";
import { ColumnInference } from "./infer-columns.ts";
import { jsonRows, ndjsonRows } from "./json-rows.ts";
import { HeadingMatch } from "./match-headings.ts";
import {
  type FileHeadings,
  type FileRow,
  type TableBatch,
  TableFault,
  type TableField,
  type TableFormat,
  type TableJob,
} from "./table-job.ts";
import { xlsxRows } from "./xlsx-rows.ts";

/** Of a batch, as far as its texts tell. */
const BATCH_ROWS = 500;
const BATCH_CHARACTERS = 256 * 1024;

type Reader = (file: SourceFile) => AsyncGenerator<FileHeadings | FileRow, void>;
const READERS: Readonly<Record<TableFormat, Reader>> = {
  csv: csvRows,
  ndjson: ndjsonRows,
  json: jsonRows,
  xlsx: xlsxRows,
};

serveJobs((job) => work(job as TableJob));

async function* work(job: TableJob): AsyncGenerator<readonly TableField[] | TableBatch, void> {
  try {
    const file = await openSourceFile(job.path, `table.${job.format}`, READ_LIMITS);
    const rows = READERS[job.format](file);
    if (job.kind === "read") yield* readRows(rows, job);
    else yield await inferFields(rows, job.format);
  } catch (thrown) {
    if (thrown instanceof TableFault) throw thrown;
    if (thrown instanceof UnreadableFile) throw new TableFault(thrown.message, { cause: thrown });
    // An error of a library, about the content.
    throw new TableFault("The file is damaged or incomplete.", { cause: thrown });
  }
}

async function inferFields(
  rows: AsyncIterable<FileHeadings | FileRow>,
  format: TableFormat,
): Promise<readonly TableField[]> {
  const inference = new ColumnInference(format !== "csv");
  for await (const row of rows) if ("values" in row) inference.add(row.values);
  const fields = inference.fields();
  if (fields.length > 0) return fields;
  throw new TableFault(
    "The file has no rows to guess the types of columns from. Create the dataset with its 'columns', then import into it.",
  );
}

async function* readRows(
  rows: AsyncIterable<FileHeadings | FileRow>,
  { fields, format }: Extract<TableJob, { kind: "read" }>,
): AsyncGenerator<TableBatch, void> {
  const convert = new RowConversion(fields, format === "csv");
  let batch: JsonObject[] = [];
  let lines: number[] = [];
  let characters = 0;
  for await (const found of rows) {
    const { line } = found;
    if ("headings" in found) {
      yield { headings: { names: convert.names(found.headings, line), line }, rows: [], lines: [] };
      continue;
    }
    const row = convert.row(found.values, line);
    batch.push(row);
    lines.push(line);
    characters += sizeOf(row);
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue;
    yield { rows: batch, lines };
    batch = [];
    lines = [];
    characters = 0;
  }
  if (batch.length > 0) yield { rows: batch, lines };
}

/** Gives rows the names of the dataset's columns. */
class RowConversion {
  readonly #match: HeadingMatch;
  readonly #isText: boolean;

  constructor(fields: readonly TableField[], isText: boolean) {
    this.#match = new HeadingMatch(fields);
    this.#isText = isText;
  }

  names(headings: readonly string[], line: number): readonly string[] {
    return Object.keys(this.row(Object.fromEntries(headings.map((name) => [name, null])), line));
  }

  row(values: JsonObject, line: number): JsonObject {
    const row: Record<string, JsonValue> = Object.create(null);
    for (const [heading, value = null] of Object.entries(values)) {
      const field = this.#match.find(heading, line);
      const name = field?.name ?? heading;
      if (name in row)
        throw new TableFault(`Line ${line}: two fields are '${name}'.`, { column: name });
      row[name] = this.#isText && typeof value === "string" ? fromText(value, field, line) : value;
    }
    return row;
  }
}

/** A cell of a file without types. */
function fromText(text: string, field: TableField | undefined, line: number): JsonValue {
  if (field === undefined || field.type === "text") return text;
  if (field.type !== "json") return text.trim();
  try {
    return parseExactJson(text);
  } catch (cause) {
    const { name: column } = field;
    throw new TableFault(`Line ${line}, column '${column}': expected JSON.`, { column, cause });
  }
}

function sizeOf(row: JsonObject): number {
  let size = 0;
  for (const value of Object.values(row)) {
    if (typeof value === "string") size += value.length;
    else size += typeof value === "object" && value !== null ? JSON.stringify(value).length : 8;
  }
  return size;
}
