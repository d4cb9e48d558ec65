/** Tables as files. What the server can write itself is downloaded from there; the rest is written here in its form. */

/** A cell that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

type Cell = string | number | boolean | null | undefined;

/** Returns the rows as RFC 4180 with CRLF. Texts that a spreadsheet would run are led by an apostrophe. */
export function toCsv(columns: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [columns.map(toField).join(",")];
  for (const row of rows) lines.push(row.map(toField).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

/** Returns the address at which the server writes the same list as CSV. */
export function csvAddress(path: string, query: Readonly<Record<string, Cell>>): string {
  const parameters = new URLSearchParams({ format: "csv" });
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  return `${path}?${parameters}`;
}

function toField(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  const text = typeof cell === "string" && FORMULA.test(cell) ? `'${cell}` : String(cell);
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
