import { readFile } from "node:fs/promises";
import type { CellObject, WorkBook } from "@e965/xlsx";
import { PROTECTED, type SourceFile, UnreadableFile } from "../../../knowledge/readers/reader.ts";
import type { JsonObject, JsonValue } from "../../../lib/json/json.ts";
import { ProgramFailure, RowFault, setField } from "../row-work.ts";
import { columnNames } from "./cell-types.ts";
import { COLUMNS_MAX, type FileRow, type FileSettings } from "./file-rows.ts";

type Cells = readonly (CellObject | undefined)[] | undefined;

/** Bytes of a workbook: the library holds it whole. */
const FILE_MAX_BYTES = 100 * 1024 * 1024;

/** Yields the rows of one sheet, the first unless another is named. The first row with content is the header. */
export async function* readWorkbookRows(
  file: SourceFile,
  { sheet, types }: FileSettings,
): AsyncGenerator<FileRow, void> {
  if (file.size > FILE_MAX_BYTES)
    throw new ProgramFailure("unreadable_file", "The workbook has more than 100 MiB.");
  // The library unpacks the whole archive, without a limit.
  await file.zip?.measure();
  const workbook = await readWorkbook(await readFile(file.path));
  const name = sheet ?? workbook.SheetNames[0] ?? "";
  const rows: readonly Cells[] | undefined = workbook.Sheets[name]?.["!data"];
  if (rows === undefined && sheet !== undefined) throw unknownSheet(sheet, workbook.SheetNames);
  let names: readonly string[] | undefined;
  for (const cells of rows ?? []) {
    if (cells === undefined || !cells.some(isFilled)) continue;
    if (cells.length > COLUMNS_MAX && cells.slice(COLUMNS_MAX).some(isFilled))
      throw new ProgramFailure(
        "unreadable_file",
        `The sheet has more than the ${COLUMNS_MAX} columns allowed.`,
      );
    if (names === undefined) names = columnNames(Array.from(cells.slice(0, COLUMNS_MAX), textOf));
    else yield fileRowOf(cells, names, types);
  }
}

function fileRowOf(
  cells: readonly (CellObject | undefined)[],
  names: readonly string[],
  types: FileSettings["types"],
): FileRow {
  const row = rowOf(cells, names, types);
  const beyond = cells.findIndex((cell, index) => index >= names.length && isFilled(cell));
  if (beyond < 0) return { row };
  const message = `The row has a value in column ${beyond + 1}, and the header ${names.length} columns.`;
  return { fault: new RowFault("wrong_record", message), row };
}

async function readWorkbook(bytes: Buffer): Promise<WorkBook> {
  const { read, set_cptable } = await import("@e965/xlsx");
  set_cptable(await import("@e965/xlsx/dist/cpexcel.full.mjs"));
  const options = { dense: true, cellHTML: false, cellFormula: false, cellDates: true, UTC: true };
  try {
    return read(bytes, { type: "buffer", ...options });
  } catch (thrown) {
    const isProtected = thrown instanceof Error && /password|encrypt/i.test(thrown.message);
    throw isProtected ? new UnreadableFile("invalid_file", PROTECTED) : thrown;
  }
}

function rowOf(
  cells: readonly (CellObject | undefined)[],
  names: readonly string[],
  types: FileSettings["types"],
): JsonObject {
  const row: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    const cell = cells[index];
    setField(row, name, types === "infer" ? jsonValue(cell) : textOf(cell));
  }
  return row as JsonObject;
}

function isFilled(cell: CellObject | undefined): boolean {
  return cell !== undefined && cell.t !== "z" && cell.v !== undefined && cell.v !== "";
}

/** The value as the workbook has it; dates as ISO texts. */
function jsonValue(cell: CellObject | undefined): JsonValue {
  if (cell === undefined || !isFilled(cell)) return null;
  if (cell.v instanceof Date) return dateText(cell.v);
  if (cell.t === "e") return null;
  return (cell.v ?? null) as JsonValue;
}

/** The text as the spreadsheet shows it. */
function textOf(cell: CellObject | undefined): string {
  if (cell === undefined || !isFilled(cell)) return "";
  return cell.v instanceof Date ? dateText(cell.v) : (cell.w ?? String(cell.v));
}

function dateText(date: Date): string {
  if (Number.isNaN(date.getTime())) return "";
  const text = date.toISOString();
  return text.endsWith("T00:00:00.000Z") ? text.slice(0, 10) : text;
}

function unknownSheet(name: string, all: readonly string[]): ProgramFailure {
  const names = all.slice(0, 20).join("', '");
  return new ProgramFailure("unreadable_file", `There is no sheet '${name}': there is '${names}'.`);
}
