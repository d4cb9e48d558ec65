/** A cell of a table. */
export type CsvCell = string | number | boolean | null;

/** A text that spreadsheets run as a formula, also after leading space or control characters. */
const FORMULA = /^[\s\p{Cc}]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]|^\p{Cc}/u;
/** Nothing tells texts and numbers apart here, because decimals and large integers are texts too. */
const NUMBER = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;
const QUOTED = /[",;\r\n]|^\s|\s$/;

/**
 * Returns a table as RFC 4180 defines it, with a header line. A text that a spreadsheet would run as a formula gets an
 * apostrophe before it, because users choose the names of keys and models. Null is an empty cell.
 */
export function csvText(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, CsvCell | undefined>>[],
): string {
  const lines = rows.map((row) => columns.map((column) => row[column] ?? null));
  return csvLine(columns) + lines.map(csvLine).join("");
}

/** Returns one line of such a table. */
export function csvLine(cells: readonly CsvCell[]): string {
  return `${cells.map(cellText).join(",")}\r\n`;
}

/** Returns a text that no spreadsheet runs as a formula. */
export function defused(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

function cellText(cell: CsvCell): string {
  if (cell === null) return "";
  if (typeof cell !== "string") return String(cell);
  const safe = NUMBER.test(cell) ? cell : defused(cell);
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
