import { readFile } from "node:fs/promises";
import type { CellObject, WorkBook } from "@e965/xlsx";
import { type Block, PROTECTED, type Reader, type SourceFile, UnreadableFile } from "./reader.ts";
import { DateCells } from "./shared/date-cells.ts";
import { TableRows } from "./shared/table-rows.ts";

const OLE_MAGIC = Buffer.from("d0cf11e0a1b11ae1", "hex");
/** Streams of the old container, by their names in its directory. */
const ENCRYPTED = Buffer.from("EncryptedPackage", "utf16le");
const WORKBOOKS = [Buffer.from("Workbook\0", "utf16le"), Buffer.from("Book\0", "utf16le")];
const XLSX_WORKBOOK = /^xl\/workbook\d*\.(?:xml|bin)$/;
const ODS_TYPE = "application/vnd.oasis.opendocument.spreadsheet";
/** Rows and columns with content; what a sheet claims to have does not count. */
const COLUMNS_MAX = 16_384;
/** Dates in the order of the reader's country, which nobody knows here, are shown in the order of the standard. */
const READING = {
  type: "buffer",
  dense: true,
  cellHTML: false,
  cellFormula: false,
  cellNF: true,
  dateNF: "yyyy-mm-dd",
} as const;

/** Excel's newer format. */
export const xlsxReader: Reader = {
  format: "XLSX",
  matches: ({ zip }) => zip?.names.some((name) => XLSX_WORKBOOK.test(name)) === true,
  read: readArchive,
};

export const odsReader: Reader = {
  format: "ODS",
  async matches({ zip, extension }) {
    if (zip?.has("content.xml") !== true) return false;
    if (!zip.has("mimetype")) return extension === "ods";
    for await (const bytes of zip.read("mimetype"))
      return Buffer.from(bytes).toString("latin1").startsWith(ODS_TYPE);
    return false;
  },
  read: readArchive,
};

/** Excel's older format, in the container that protected files of newer formats have, too. */
export const xlsReader: Reader = {
  format: "XLS",
  matches: ({ head }) => head.subarray(0, OLE_MAGIC.length).equals(OLE_MAGIC),
  read: readContainer,
};

async function* readArchive(file: SourceFile): AsyncGenerator<Block, void> {
  // The library unpacks the whole archive, without a limit.
  await file.zip?.measure();
  yield* readWorkbook(await readFile(file.path));
}

async function* readContainer(file: SourceFile): AsyncGenerator<Block, void> {
  const bytes = await readFile(file.path);
  if (bytes.includes(ENCRYPTED)) throw new UnreadableFile("invalid_file", PROTECTED);
  if (!WORKBOOKS.some((name) => bytes.includes(name)))
    throw new UnreadableFile(
      "unsupported_file",
      "Older Word and PowerPoint files are not read. Save it as DOCX, PPTX or PDF.",
    );
  await loadCodePages();
  yield* readWorkbook(bytes);
}

/** Only the older format has texts in them, and loading them takes longer than reading a workbook. */
async function loadCodePages(): Promise<void> {
  const { set_cptable } = await import("@e965/xlsx");
  set_cptable(await import("@e965/xlsx/dist/cpexcel.full.mjs"));
}

async function* readWorkbook(bytes: Buffer): AsyncGenerator<Block, void> {
  const { read, SSF } = await import("@e965/xlsx");
  let workbook: WorkBook;
  try {
    workbook = read(bytes, READING);
  } catch (thrown) {
    const isProtected = thrown instanceof Error && /password|encrypt/i.test(thrown.message);
    throw isProtected ? new UnreadableFile("invalid_file", PROTECTED) : thrown;
  }
  const dates = new DateCells(SSF, workbook.Workbook?.WBProps?.date1904 === true);
  for (const name of workbook.SheetNames) {
    const rows: readonly (readonly (CellObject | undefined)[] | undefined)[] =
      workbook.Sheets[name]?.["!data"] ?? [];
    yield* rowsOf(rows, name, dates);
  }
}

function* rowsOf(
  rows: readonly (readonly (CellObject | undefined)[] | undefined)[],
  sheet: string,
  dates: DateCells,
): Generator<Block, void> {
  const table = new TableRows({ sheet });
  for (const cells of rows) {
    if (cells === undefined) continue;
    const texts = Array.from(cells.slice(0, COLUMNS_MAX), (cell) => textOf(cell, dates));
    const row = table.row(texts);
    if (row !== undefined) yield row;
  }
}

/**
 * The text as the spreadsheet shows it, but for long numbers, whose digits somebody will search for, and dates that the
 * library cannot show.
 */
function textOf(cell: CellObject | undefined, dates: DateCells): string {
  if (cell === undefined || cell.t === "z") return "";
  const isShortened = cell.t === "n" && cell.z === "General" && /\dE[+-]\d/.test(cell.w ?? "");
  if (isShortened) return String(cell.v);
  const date = dates.textOf(cell);
  if (date !== undefined) return date;
  return cell.w ?? (cell.v instanceof Date ? cell.v.toISOString() : String(cell.v ?? ""));
}
