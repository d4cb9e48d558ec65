import type { DatasetColumn } from "../../../db/tables/datasets.ts";
import type { JsonObject } from "../../../lib/json/json.ts";

/** The formats of tables that can be imported, by their media types. */
export const TABLE_TYPES = {
  "text/csv": "csv",
  "application/x-ndjson": "ndjson",
  "application/jsonl": "ndjson",
  "application/json": "json",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
} as const;
export type TableFormat = (typeof TABLE_TYPES)[keyof typeof TABLE_TYPES];

/** A column of the dataset, with its heading in files. */
export interface TableField extends DatasetColumn {
  /** Of the file that the column was made from. It is kept where the name of the column is another one. */
  readonly heading?: string;
}

/** A column that a file suggests. */
export interface FoundField extends TableField {
  readonly heading: string;
}

/** What the process is asked to do. `infer` yields one `FoundField[]`, `read` yields `TableBatch`es. */
export type TableJob =
  | { readonly kind: "infer"; readonly path: string; readonly format: TableFormat }
  | {
      readonly kind: "read";
      readonly path: string;
      readonly format: TableFormat;
      readonly fields: readonly TableField[];
    };

export interface TableBatch {
  /** Only in a batch of its own before the rows, of a file that has headings: columns by name, or the heading itself. */
  readonly headings?: { readonly names: readonly string[]; readonly line: number };
  readonly rows: readonly JsonObject[];
  /** The line of each row in its file; in a spreadsheet its row, in a JSON array the line where it begins. */
  readonly lines: readonly number[];
}

/** Comes before the rows of a file that has headings: they are known even where no row follows. */
export interface FileHeadings {
  readonly line: number;
  readonly headings: readonly string[];
}

/** One row of a file, by its headings. */
export interface FileRow {
  readonly line: number;
  readonly values: JsonObject;
}

/** A limit of one row, in characters. */
export const MAX_ROW_CHARACTERS = 1024 * 1024;
const SHOWN_CHARACTERS = 40;

/** The file is no table, or a row of it cannot be read. The message is for people. */
export class TableFault extends Error {
  override readonly name = "TableFault";
  /** The heading of the column; the process passes it on as the error's code. */
  readonly code: string;

  constructor(message: string, { column = "", cause }: { column?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.code = column;
  }
}

/** A text of the file as messages show it. */
export function shown(text: string): string {
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}

export function faultAt(line: number, text: string, cause?: unknown): TableFault {
  return new TableFault(`Line ${line}: ${text}`, { cause });
}
