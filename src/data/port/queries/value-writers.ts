import { defused } from "../../../lib/text/csv.ts";
import type { Output } from "./output.ts";
import type { ValueKind } from "./result-columns.ts";

/** Writes the bytes of one value that is not null, as PostgreSQL wrote it as a text. */
export type WriteValue = (output: Output, row: Buffer, start: number, end: number) => void;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const HASH = 0x23;
const SPACE = 0x20;
const POINT = 0x2e;
const MINUS = 0x2d;
const PLUS = 0x2b;
const ZERO = 0x30;
const NINE = 0x39;
const LETTER_T = 0x54;
const LETTER_Z = 0x5a;
const TRUE = 0x74;
/** 2^53 has 16 digits; all integers with fewer are numbers of JSON that every reader keeps. */
const SAFE_DIGITS = 15;
/** `YYYY-MM-DD HH:MM:SS` */
const SECONDS_BYTES = 19;
const DATE_BYTES = 10;

const raw: WriteValue = (output, row, start, end) => output.copy(row, start, end);
const marked: WriteValue = (output, row, start, end) => {
  output.byte(QUOTE);
  output.copy(row, start, end);
  output.byte(QUOTE);
};
const boolean: WriteValue = (output, row, start) => {
  output.text(row[start] === TRUE ? "true" : "false");
};

const jsonBigint: WriteValue = (output, row, start, end) => {
  const isSafe =
    end - start <= SAFE_DIGITS || Number.isSafeInteger(Number(row.toString("latin1", start, end)));
  (isSafe ? raw : marked)(output, row, start, end);
};
/** NaN and Infinity are no numbers of JSON. */
const jsonFloat: WriteValue = (output, row, start, end) => {
  const last = row[end - 1] ?? 0;
  (last >= ZERO && last <= NINE ? raw : marked)(output, row, start, end);
};
const jsonText: WriteValue = (output, row, start, end) => {
  for (let at = start; at < end; at += 1) {
    const byte = row[at] as number;
    if (byte < SPACE || byte === QUOTE || byte === BACKSLASH) {
      output.text(JSON.stringify(row.toString("utf8", start, end)));
      return;
    }
  }
  marked(output, row, start, end);
};
/** A value of the type `json` is kept with its line breaks, which stand between its tokens only. */
const jsonJson: WriteValue = (output, row, start, end) => {
  let from = start;
  for (let at = start; at < end; at += 1) {
    const byte = row[at];
    if (byte !== LINE_FEED && byte !== CARRIAGE_RETURN) continue;
    output.copy(row, from, at);
    output.byte(SPACE);
    from = at + 1;
  }
  output.copy(row, from, end);
};
const jsonTime: WriteValue = (output, row, start, end) => {
  output.byte(QUOTE);
  isoTime(output, row, start, end);
  output.byte(QUOTE);
};

/**
 * Writes `2026-11-23 14:05:00.5+00` as `2026-11-23T14:05:00.500Z`: three digits after the seconds, or six where it needs
 * them. `infinity` and years before 1 or after 9999 stay as PostgreSQL writes them.
 */
const isoTime: WriteValue = (output, row, start, end) => {
  const hasZone = row[end - 3] === PLUS;
  const last = hasZone ? end - 3 : end;
  const digits = last - start - SECONDS_BYTES - 1;
  const isUsual = row[start + DATE_BYTES] === SPACE && row[start + 4] === MINUS;
  if (!isUsual || digits > 6 || (digits >= 0 && row[start + SECONDS_BYTES] !== POINT)) {
    output.copy(row, start, end);
    return;
  }
  output.copy(row, start, start + DATE_BYTES);
  output.byte(LETTER_T);
  output.copy(row, start + DATE_BYTES + 1, start + SECONDS_BYTES);
  output.byte(POINT);
  if (digits > 0) output.copy(row, start + SECONDS_BYTES + 1, last);
  const given = Math.max(digits, 0);
  for (let count = given; count < (given > 3 ? 6 : 3); count += 1) output.byte(ZERO);
  if (hasZone) output.byte(LETTER_Z);
};

/** A field that begins with `#` is quoted too: a line that does is an error, never a row. */
const csvText: WriteValue = (output, row, start, end) => {
  const first = row[start] ?? 0;
  let isPlain = end > start && first > SPACE && first !== HASH && (row[end - 1] ?? 0) > SPACE;
  for (let at = start; isPlain && at < end; at += 1) {
    const byte = row[at];
    isPlain = byte !== QUOTE && byte !== COMMA && byte !== LINE_FEED && byte !== CARRIAGE_RETURN;
  }
  if (isPlain) {
    output.copy(row, start, end);
    return;
  }
  output.byte(QUOTE);
  let from = start;
  for (let at = start; at < end; at += 1) {
    if (row[at] !== QUOTE) continue;
    output.copy(row, from, at + 1);
    output.byte(QUOTE);
    from = at + 1;
  }
  output.copy(row, from, end);
  output.byte(QUOTE);
};

/** A letter, a digit or `_` begins no formula. */
const HARMLESS = new Uint8Array(128).map((_, byte) =>
  /\w/.test(String.fromCharCode(byte)) ? 1 : 0,
);
const csvDefused: WriteValue = (output, row, start, end) => {
  const first = row[start] ?? 0;
  if (end === start || HARMLESS[first] === 1) {
    csvText(output, row, start, end);
    return;
  }
  const safe = Buffer.from(defused(row.toString("utf8", start, end)));
  csvText(output, safe, 0, safe.length);
};

export const JSON_WRITERS: Readonly<Record<ValueKind, WriteValue>> = {
  number: raw,
  bigint: jsonBigint,
  float: jsonFloat,
  decimal: marked,
  boolean,
  date: marked,
  time: jsonTime,
  json: jsonJson,
  text: jsonText,
};

export const CSV_WRITERS: Readonly<Record<ValueKind, WriteValue>> = {
  number: raw,
  bigint: raw,
  float: raw,
  decimal: raw,
  boolean,
  date: raw,
  time: isoTime,
  json: csvText,
  text: csvText,
};

/** For spreadsheets. */
export const DEFUSED_CSV_WRITERS: typeof CSV_WRITERS = {
  ...CSV_WRITERS,
  json: csvDefused,
  text: csvDefused,
};
