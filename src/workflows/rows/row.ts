import type { JsonObject } from "../../lib/json/json.ts";

/** One row: a JSON object of up to `MAX_ROW_BYTES`. Integers beyond 2^53 are texts. */
export type Row = JsonObject;

/** A row that a step has made, or its JSON text: a long one would keep the event loop busy as an object. */
export type MadeRow = Row | string;

export function textOfRow(made: MadeRow): string {
  return typeof made === "string" ? made : JSON.stringify(made);
}

/**
 * Returns the JSON text of a row with one more field, or another value of it, that is JSON text already. A row without
 * that name anywhere is not parsed.
 */
export function textWithField(row: string, field: string, json: string): string {
  return textWithFields(row, new Map([[field, json]]));
}

/** The same for several fields: each name with its JSON text. */
export function textWithFields(row: string, fields: ReadonlyMap<string, string>): string {
  const names = [...fields.keys()];
  if (names.length === 0) return row;
  if (names.some((name) => row.includes(JSON.stringify(name)))) {
    return replaceFields(JSON.parse(row) as Row, fields);
  }
  const rest = row.trimEnd().slice(0, -1).trimEnd();
  const members = Array.from(fields, ([name, json]) => `${JSON.stringify(name)}:${json}`).join(",");
  return rest === "{" ? `{${members}}` : `${rest},${members}}`;
}

function replaceFields(row: Row, fields: ReadonlyMap<string, string>): string {
  const names = new Set([...Object.keys(row), ...fields.keys()]);
  const members = Array.from(
    names,
    (name) => `${JSON.stringify(name)}:${fields.get(name) ?? JSON.stringify(row[name])}`,
  );
  return `{${members.join(",")}}`;
}

export const MAX_ROW_BYTES = 1024 * 1024;
/** A chunk is closed at whichever comes first. */
export const CHUNK_ROWS = 1_000;
export const CHUNK_BYTES = 1024 * 1024;

/**
 * Rows on their way between steps: gzip of NDJSON, one row a line, each line with its end. It is passed on as it is
 * wherever nobody has to look into it.
 */
export interface RowChunk {
  readonly rows: number;
  /** Bytes of the lines before they were compressed. */
  readonly bytes: number;
  readonly data: Uint8Array;
}

/** The rows that a step reads: the outputs that its `from` names, in that order. */
export interface StepInput {
  /** How SQL and joins name it: the step's id, or `check_else` for a named output. */
  readonly name: string;
  readonly rows: number;
  readonly bytes: number;
  /** May be read several times. */
  readonly chunks: () => AsyncIterable<RowChunk>;
}

/** A row that a step could not take. */
export interface RowError {
  /** Counted from 1 over all inputs of the step. */
  readonly row: number;
  readonly code: string;
  /** Says what is wrong and what to do, without the row's other data. */
  readonly message: string;
}

/** The field that a routed row has beside its own: `{row, code, message}`. */
export const ERROR_FIELD = "_error";
