import { readFile } from "node:fs/promises";
import type { CellObject, WorkBook } from "@e965/xlsx";
import type { SourceFile } from "../../../knowledge/readers/reader.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import { byHeading, headingsOf } from "./csv-rows.ts";
import { type FileHeadings, type FileRow, TableFault } from "./table-job.ts";

const WORKBOOK = /^xl\/workbook\d*\.(?:xml|bin)$/;

/** The first sheet with content. Its first row has the headings. Formulas count as their last results. */
export async function* xlsxRows(file: SourceFile): AsyncGenerator<FileHeadings | FileRow, void> {
  const { zip } = file;
  if (zip?.names.some((name) => WORKBOOK.test(name)) !== true) {
    throw new TableFault("The file is no XLSX workbook, or it is protected with a password.");
  }
  // The library unpacks the whole archive, without a limit.
  await zip.measure();
  const { read, SSF } = await import("@e965/xlsx");
  const bytes = await readFile(file.path);
  const options = { dense: true, cellHTML: false, cellFormula: false, cellNF: true } as const;
  const workbook: WorkBook = read(bytes, { type: "buffer", ...options });
  const date1904 = workbook.Workbook?.WBProps?.date1904 === true;
  const toValue = (cell: CellObject | undefined, line: number): JsonValue => {
    if (cell === undefined || cell.t === "z" || cell.v === undefined) return null;
    if (cell.t === "e")
      throw new TableFault(`Row ${line}: a formula has the error ${cell.w ?? ""}.`);
    if (cell.t !== "n" || typeof cell.v !== "number") {
      return typeof cell.v === "boolean" ? cell.v : String(cell.v);
    }
    const isDate = typeof cell.z === "string" && SSF.is_date(cell.z);
    return isDate ? toTime(SSF.parse_date_code(cell.v, { date1904 })) : cell.v;
  };
  for (const name of workbook.SheetNames) {
    const sheet: readonly (readonly (CellObject | undefined)[] | undefined)[] =
      workbook.Sheets[name]?.["!data"] ?? [];
    let headings: readonly string[] | undefined;
    for (const [index, cells = []] of sheet.entries()) {
      const line = index + 1;
      const values = Array.from(cells, (cell) => toValue(cell, line));
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

interface DateParts {
  readonly y: number;
  readonly m: number;
  readonly d: number;
  readonly H: number;
  readonly M: number;
  readonly S: number;
}

/** A whole day is a date; a spreadsheet knows no zone, so other times are taken as UTC. */
function toTime(parts: DateParts | null): JsonValue {
  if (parts === null) return null;
  const { y, m, d, H, M, S } = parts;
  const two = (value: number) => String(value).padStart(2, "0");
  const date = `${String(y).padStart(4, "0")}-${two(m)}-${two(d)}`;
  return H === 0 && M === 0 && S === 0
    ? date
    : `${date}T${two(H)}:${two(M)}:${two(Math.floor(S))}Z`;
}
