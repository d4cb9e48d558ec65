import { readFile } from "node:fs/promises";
import type { CellObject, WorkBook } from "@e965/xlsx";
import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import {
  type CellTime,
  CellTimes,
  clockText,
} from "../../../knowledge/readers/shared/cell-times.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import { byHeading, headingsOf } from "./csv-rows.ts";
import { type FileHeadings, type FileRow, shown, TableFault } from "./table-job.ts";

const WORKBOOK = /^xl\/workbook\d*\.(?:xml|bin)$/;

/** The first sheet with content. Its first row has the headings. Formulas count as their last results. */
export async function* xlsxRows(file: SourceFile): AsyncGenerator<FileHeadings | FileRow, void> {
  const { zip } = file;
  if (zip?.names.some((name) => WORKBOOK.test(name)) !== true) {
    throw new TableFault("The file is no XLSX workbook, or it is protected with a password.");
  }
  // The library unpacks the whole archive, without a limit.
  await zip.measure();
  const { read, SSF, utils } = await import("@e965/xlsx");
  const bytes = await readFile(file.path);
  const options = { dense: true, cellHTML: false, cellFormula: false, cellNF: true } as const;
  const workbook: WorkBook = read(bytes, { type: "buffer", ...options });
  const is1904 = workbook.Workbook?.WBProps?.date1904 === true;
  const readCell = readCells(new CellTimes(SSF.is_date, is1904));
  for (const name of workbook.SheetNames) {
    const sheet: readonly (readonly (CellObject | undefined)[] | undefined)[] =
      workbook.Sheets[name]?.["!data"] ?? [];
    let headings: readonly string[] | undefined;
    for (const [index, cells = []] of sheet.entries()) {
      const line = index + 1;
      const values = Array.from(cells, (cell, at) =>
        readCell(cell, { line, column: headings?.[at] ?? utils.encode_col(at) }),
      );
      if (values.every((value) => value === null || value === "")) continue;
      if (headings === undefined) {
        headings = headingsOf(values, line);
        yield { line, headings };
      } else yield { line, values: byHeading(headings, values, line) };
    }
    if (headings !== undefined) return;
  }
  throw new TableFault("The workbook has no sheet with headings in its first row.");
}

/** Where a cell is, for messages: the row, and the heading or the letters of the column. */
interface CellPlace {
  readonly line: number;
  readonly column: string;
}

type ReadCell = (cell: CellObject | undefined, place: CellPlace) => JsonValue;

function readCells(times: CellTimes): ReadCell {
  const toNumber = (value: number, format: unknown, place: CellPlace): JsonValue => {
    const time = times.read(value, format);
    if (time?.kind === "impossible") {
      throw faultIn(place, `${value} has the format of a date, and is the number of none`);
    }
    return time === undefined ? value : textOf(time);
  };
  return (cell, place) => {
    if (cell === undefined || cell.t === "z" || cell.v === undefined) return null;
    if (cell.t === "e") throw faultIn(place, `a formula has the error ${cell.w ?? ""}`);
    if (cell.t === "n" && typeof cell.v === "number") return toNumber(cell.v, cell.z, place);
    return typeof cell.v === "boolean" ? cell.v : String(cell.v);
  };
}

function faultIn({ line, column }: CellPlace, text: string): TableFault {
  return new TableFault(`Row ${line}, column '${shown(column)}': ${text}.`, { column });
}

/** A whole day is a date; a spreadsheet knows no zone, so other times are taken as UTC. */
function textOf(time: Exclude<CellTime, { kind: "impossible" }>): string {
  const clock = clockText(time.milliseconds);
  if (time.kind === "clock") return clock;
  return time.milliseconds === 0 ? time.day : `${time.day}T${clock}Z`;
}
