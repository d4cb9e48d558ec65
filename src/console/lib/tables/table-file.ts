import { isObject } from "../json/json-schema.ts";
import { parseJson } from "../json/json-text.ts";

/** Files of rows before they are sent: their format, and how they begin. The server reads and judges them. */

export type TableFormat = "csv" | "ndjson" | "json" | "xlsx";

/** The media type by which the server knows each format. */
export const MEDIA_TYPES: Readonly<Record<TableFormat, string>> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
  json: "application/json",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};
const ENDINGS: Readonly<Record<string, TableFormat>> = {
  csv: "csv",
  tsv: "csv",
  txt: "csv",
  ndjson: "ndjson",
  jsonl: "ndjson",
  json: "json",
  xlsx: "xlsx",
};

/** How a table begins. */
export interface TablePreview {
  readonly columns: readonly string[];
  readonly rows: ReadonlyArray<readonly unknown[]>;
}

const MAX_ROWS = 20;
const MAX_COLUMNS = 100;

/** Returns the format that a file's name tells. */
export function formatOfFile(name: string): TableFormat | undefined {
  const ending = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined;
}

/**
 * Returns the first rows of a text; undefined where they cannot be read, which the server says better.
 *
 * @param isWhole false where the text is the beginning of a longer one.
 */
export function previewTable(
  text: string,
  format: Exclude<TableFormat, "xlsx">,
  isWhole: boolean,
): TablePreview | undefined {
  if (format === "csv") return previewCsv(text, isWhole);
  const pieces = format === "ndjson" ? linesOf(text, isWhole) : objectsOf(text);
  const rows: Readonly<Record<string, unknown>>[] = [];
  for (const piece of pieces.slice(0, MAX_ROWS)) {
    const row = parse(piece);
    if (row === undefined) break;
    rows.push(row);
  }
  if (rows.length === 0) return undefined;
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))].slice(0, MAX_COLUMNS);
  return { columns, rows: rows.map((row) => columns.map((name) => row[name] ?? null)) };
}

function previewCsv(text: string, isWhole: boolean): TablePreview | undefined {
  const records = recordsOf(text.replace(/^\uFEFF/, ""), isWhole);
  const [head, ...rows] = records;
  if (head === undefined) return undefined;
  const columns = head.slice(0, MAX_COLUMNS);
  return { columns, rows: rows.map((row) => columns.map((_, place) => row[place] ?? null)) };
}

/** Reads the heading and the first rows of RFC 4180. */
function recordsOf(text: string, isWhole: boolean): readonly (readonly string[])[] {
  const delimiter = delimiterOf(text);
  const records: string[][] = [];
  let cells = [""];
  const endRecord = () => {
    if (cells.length > 1 || cells[0] !== "") records.push(cells);
    cells = [""];
  };
  for (const [piece] of text.matchAll(CSV_PIECES)) {
    if (records.length > MAX_ROWS) break;
    if (piece === delimiter) cells.push("");
    else if (piece === "\n" || piece === "\r\n") endRecord();
    else cells[cells.length - 1] += unquoted(piece);
  }
  // The last record of a piece may go on behind it.
  if (isWhole && records.length <= MAX_ROWS) endRecord();
  return records;
}

/** A cell in quotation marks, a delimiter of any kind, a line's end, or what is between them. */
const CSV_PIECES = /"(?:[^"]|"")*"|[,;\t|]|\r?\n|[^",;\t|\r\n]+|["\r]/g;

function unquoted(piece: string): string {
  const isQuoted = piece.length > 1 && piece.startsWith('"');
  return isQuoted ? piece.slice(1, -1).replaceAll('""', '"') : piece;
}

/** As the server chooses it: the one that the heading has most often. */
function delimiterOf(text: string): string {
  const [line = ""] = text
    .replaceAll(/"[^"]*"/g, "")
    .trimStart()
    .split(/[\r\n]/, 1);
  const count = (delimiter: string) => line.split(delimiter).length;
  const [best = ","] = [",", ";", "\t", "|"].sort((one, other) => count(other) - count(one));
  return best;
}

function linesOf(text: string, isWhole: boolean): readonly string[] {
  const lines = text.split("\n");
  return (isWhole ? lines : lines.slice(0, -1)).filter((line) => line.trim() !== "");
}

/** Strings, so that the braces in them do not count, and braces. */
const JSON_PIECES = /"(?:[^"\\]|\\.)*"|[{}]/gs;

/** The texts of the first whole objects of an array. */
function objectsOf(text: string): readonly string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: piece, index } of text.matchAll(JSON_PIECES)) {
    if (piece === "{" && depth === 0) start = index;
    if (piece === "{") depth += 1;
    if (piece === "}") depth -= 1;
    if (piece === "}" && depth === 0) found.push(text.slice(start, index + 1));
    if (found.length === MAX_ROWS) break;
  }
  return found;
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  // As the server reads it: an integer that a number would round is the text of its digits.
  const parsed = parseJson(text);
  const read = "root" in parsed ? parsed.root.value : undefined;
  return isObject(read) ? read : undefined;
}
