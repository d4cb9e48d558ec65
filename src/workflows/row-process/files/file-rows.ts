import type { JsonObject } from "../../../lib/json/json.ts";
import type { Row } from "../../rows/row.ts";
import type { RowFault } from "../row-work.ts";

export interface FileSettings {
  readonly format: "auto" | "csv" | "json" | "ndjson" | "xlsx" | "document";
  readonly types: "infer" | "text";
  readonly delimiter?: string | undefined;
  readonly sheet?: string | undefined;
}

/** A row of a file, or why it is none. */
export type FileRow =
  | { readonly row: Row }
  | { readonly fault: RowFault; readonly row?: JsonObject };

/** More columns are a mistake in the delimiter, or a file that is turned around. */
export const COLUMNS_MAX = 2_000;
