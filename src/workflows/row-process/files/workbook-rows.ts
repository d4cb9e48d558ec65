import { readFile } from "node:fs/promises";
import type { CellObject, WorkBook } from "@e965/xlsx";
import { PROTECTED, type SourceFile, UnreadableFile } from "../../../knowledge/readers/reader.ts";
import {
  type CellTime,
  CellTimes,
  clockText,
} from "../../../knowledge/readers/shared/cell-times.ts";
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
  const { workbook, times } = await readWorkbook(await readFile(file.path));
  const name = sheet ?? workbook.SheetNames[0] ?? "";
  const rows: readonly Cells[] | undefined = workbook.Sheets[name]?.["!data"];
  if (rows === undefined && sheet !== undefined) throw unknownSheet(sheet, workbook.SheetNames);
  const { read, text } = readCells(times, types);
  let names: readonly string[] | undefined;
  for (const cells of rows ?? []) {
    if (cells === undefined || !cells.some(isFilled)) continue;
    if (cells.length > COLUMNS_MAX && cells.slice(COLUMNS_MAX).some(isFilled))
      throw new ProgramFailure(
        "unreadable_file",
        `The sheet has more than the ${COLUMNS_MAX} columns allowed.`,
      );
    if (names === undefined) names = columnNames(Array.from(cells.slice(0, COLUMNS_MAX), text));
    else yield fileRowOf(cells, names, read);
  }
}

function fileRowOf(
  cells: readonly (CellObject | undefined)[],
  names: readonly string[],
  read: ReadCell,
): FileRow {
  const row = rowOf(cells, names, read);
  const beyond = cells.findIndex((cell, index) => index >= names.length && isFilled(cell));
  if (beyond < 0) return { row };
  const message = `The row has a value in column ${beyond + 1}, and the header ${names.length} columns.`;
  return { fault: new RowFault("wrong_record", message), row };
}

async function readWorkbook(
  bytes: Buffer,
): Promise<{ readonly workbook: WorkBook; readonly times: CellTimes }> {
  const { read, set_cptable, SSF } = await import("@e965/xlsx");
  set_cptable(await import("@e965/xlsx/dist/cpexcel.full.mjs"));
  const options = { dense: true, cellHTML: false, cellFormula: false, cellNF: true };
  try {
    const workbook: WorkBook = read(bytes, { type: "buffer", ...options });
    const is1904 = workbook.Workbook?.WBProps?.date1904 === true;
    return { workbook, times: new CellTimes(SSF.is_date, is1904) };
  } catch (thrown) {
    const isProtected = thrown instanceof Error && /password|encrypt/i.test(thrown.message);
    throw isProtected ? new UnreadableFile("invalid_file", PROTECTED) : thrown;
  }
}

function rowOf(
  cells: readonly (CellObject | undefined)[],
  names: readonly string[],
  read: ReadCell,
): JsonObject {
  const row: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) {
    setField(row, name, read(cells[index]));
  }
  return row as JsonObject;
}

function isFilled(cell: CellObject | undefined): boolean {
  return cell !== undefined && cell.t !== "z" && cell.v !== undefined && cell.v !== "";
}

type ReadCell = (cell: CellObject | undefined) => JsonValue;

/** `read`: a cell of a row, as its value with null for an empty one, or as `text`: what the spreadsheet shows. */
function readCells(
  times: CellTimes,
  types: FileSettings["types"],
): { readonly read: ReadCell; readonly text: (cell: CellObject | undefined) => string } {
  const timeOf = ({ t, v, z }: CellObject) =>
    t === "n" && typeof v === "number" ? times.read(v, z) : undefined;
  const value: ReadCell = (cell) => {
    if (cell === undefined || !isFilled(cell) || cell.t === "e") return null;
    return timeText(timeOf(cell)) ?? ((cell.v ?? null) as JsonValue);
  };
  const text = (cell: CellObject | undefined) => {
    if (cell === undefined || !isFilled(cell)) return "";
    const time = timeOf(cell);
    // The spreadsheet shows `####`.
    if (time?.kind === "impossible") return String(cell.v);
    return timeText(time) ?? cell.w ?? String(cell.v);
  };
  return { read: types === "infer" ? value : text, text };
}

/** The ISO text; undefined for a number that stays one, because it is that of no day. */
function timeText(time: CellTime | undefined): string | undefined {
  if (time === undefined || time.kind === "impossible") return undefined;
  if (time.kind === "clock") return clockText(time.milliseconds);
  if (time.milliseconds === 0) return time.day;
  return new Date(Date.parse(time.day) + time.milliseconds).toISOString();
}

function unknownSheet(name: string, all: readonly string[]): ProgramFailure {
  const names = all.slice(0, 20).join("', '");
  return new ProgramFailure("unreadable_file", `There is no sheet '${name}': there is '${names}'.`);
}
