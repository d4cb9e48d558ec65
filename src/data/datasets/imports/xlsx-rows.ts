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
  const toNumber = (value: number, format: unknown): JsonValue => {
    if (typeof format !== "string" || !SSF.is_date(format)) return value;
    return clockTime(value, format) ?? toTime(SSF.parse_date_code(value, { date1904 }));
  };
  const toValue = (cell: CellObject | undefined, line: number): JsonValue => {
    if (cell === undefined || cell.t === "z" || cell.v === undefined) return null;
    if (cell.t === "e")
      throw new TableFault(`Row ${line}: a formula has the error ${cell.w ?? ""}.`);
    if (cell.t !== "n" || typeof cell.v !== "number") {
      return typeof cell.v === "boolean" ? cell.v : String(cell.v);
    }
    return toNumber(cell.v, cell.z);
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

/** What is no code of a format: texts, escaped characters, colors and languages. */
const NO_CODE = /"[^"]*"|[\\_*].|\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi;
const DURATION = /\[[hms]+\]/i;
const SECONDS_OF_DAY = 86_400;
/** Of a second, which the sum of a day's fractions is off by less. */
const ROUNDING = 0.001;

/** A time of day or a duration, as hours, minutes and seconds; undefined for a date. */
function clockTime(days: number, format: string): string | undefined {
  const codes = format.replaceAll(NO_CODE, "");
  const isDuration = DURATION.test(codes);
  // What shows a time alone may hold a date as well, which is kept.
  if (!isDuration && (/[dy]/i.test(codes) || !/[hs]/i.test(codes) || days < 0 || days >= 1)) {
    return undefined;
  }
  const seconds = Math.floor(Math.abs(days) * SECONDS_OF_DAY + ROUNDING);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const sign = days < 0 && seconds > 0 ? "-" : "";
  return sign + parts.map(two).join(":");
}

const two = (value: number): string => String(value).padStart(2, "0");

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
  const date = `${String(y).padStart(4, "0")}-${two(m)}-${two(d)}`;
  return H === 0 && M === 0 && S === 0
    ? date
    : `${date}T${two(H)}:${two(M)}:${two(Math.floor(S))}Z`;
}
