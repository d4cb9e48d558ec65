import type { EgressResponse } from "../../lib/egress/egress.ts";
import { parseExactJson } from "../../lib/json/exact-json.ts";
import { isJsonObject, type JsonObject, type JsonValue, memberAt } from "../../lib/json/json.ts";
import { isDeeperThan } from "../../lib/json/json-depth.ts";
import { LineReader } from "../../lib/text/line-reader.ts";
import type { ParseAsked, ParsedText } from "../row-process/row-process.ts";
import { MAX_ROW_BYTES, type Row, type RowChunk } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { noJson, rowTooLarge, tooDeep } from "./answer-failures.ts";
import { inUtf8 } from "./decode-pieces.ts";
import { readCsv } from "./read-csv.ts";
import type { ReadingPace } from "./reading-pace.ts";
import { splitJsonArray } from "./split-json-array.ts";

export const ROW_FORMATS = ["auto", "json", "ndjson", "csv", "text"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

export interface RowsWanted {
  readonly format: RowFormat;
  /** The members that lead to the rows of a JSON answer; empty for the answer itself. */
  readonly path: readonly string[];
  /** Between the columns of CSV. */
  readonly delimiter: string;
  /** The members that lead to the next page in a JSON answer; undefined: nobody asks for it. */
  readonly next: readonly string[] | undefined;
  /** Of JSON. */
  readonly maxDepth: number;
  readonly pace: ReadingPace;
  /** Parses what is long, elsewhere. */
  readonly parse: (text: string, asked: ParseAsked) => Promise<ParsedText>;
}

/** Where the rows go: one by one, or in a chunk of one. */
export interface RowSink {
  readonly push: (row: Row) => Promise<void>;
  readonly chunk: (chunk: RowChunk) => Promise<void>;
}

/** Characters that are parsed here: many members of one object take their parser ten milliseconds and more. */
const SHORT = 64 * 1024;

/** What a row costs beside its bytes, as bytes of work. */
const ROW_WORK = 256;
const MEDIA_TYPES: readonly (readonly [RegExp, RowFormat])[] = [
  [/(?:ndjson|jsonl|json-lines|x-json-stream)$/, "ndjson"],
  [/(?:\/|\+)json$/, "json"],
  [/\/csv$/, "csv"],
];

/**
 * Reads the rows of an answer as they arrive. Returns the link of a JSON answer to its next page, if it is wanted. An
 * answer may be hostile: nothing beyond the size of a row is parsed at once, and nothing long in this process. Rejects
 * with a `StepFailure` that names the place, and no data.
 */
export async function readRows(
  response: EgressResponse,
  wanted: RowsWanted,
  sink: RowSink,
): Promise<JsonValue | undefined> {
  const { pace } = wanted;
  const pieces = pace.pieces(response.body);
  const pushPaced = async (row: Row, bytes: number) => {
    await sink.push(row);
    await pace.worked(bytes + ROW_WORK);
  };
  const pushText: PushText = async (text, place) => {
    if (text.length <= SHORT)
      return pushPaced(rowOf(parseAt(text, place, wanted.maxDepth)), text.length);
    const { row } = await parseLong(wanted, text, { place, row: [], value: null });
    if (row !== undefined) await sink.chunk(row);
  };
  switch (wanted.format === "auto" ? formatOf(response) : wanted.format) {
    case "ndjson":
      await readLines(pieces, pushText);
      return undefined;
    case "csv":
      await readCsv(inUtf8(pieces, response), wanted.delimiter, pushPaced);
      return undefined;
    case "json":
      return readJson(await readText(pieces), wanted, { ...sink, text: pushText });
    default:
      await sink.push({ text: await readText(inUtf8(pieces, response), MAX_ROW_BYTES) });
      return undefined;
  }
}

/** A server that does not say what it sends most often sends JSON to programs. */
function formatOf({ header }: EgressResponse): RowFormat {
  const mediaType = (header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const known = MEDIA_TYPES.find(([pattern]) => pattern.test(mediaType))?.[1];
  if (known !== undefined) return known;
  return mediaType === "" || mediaType === "application/octet-stream" ? "json" : "text";
}

async function readText(
  pieces: AsyncIterable<Uint8Array>,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<string> {
  const read: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > maxBytes) throw rowTooLarge("the text of the answer");
    read.push(piece);
  }
  return new TextDecoder().decode(Buffer.concat(read));
}

/** Takes the text of a row, and says where it stands. */
type PushText = (text: string, place: string) => Promise<void>;

async function readLines(pieces: AsyncIterable<Uint8Array>, push: PushText): Promise<void> {
  const lines = new LineReader(MAX_ROW_BYTES);
  let line = 0;
  const pushAll = async (texts: readonly string[]) => {
    for (const text of texts) {
      line += 1;
      await push(text, `line ${line} of its answer`);
    }
  };
  for await (const piece of pieces) {
    await pushAll(lines.read(piece));
    if (lines.tooLong) break;
  }
  await pushAll(lines.end());
  if (lines.tooLong) throw rowTooLarge(`line ${line + 1} of the answer`);
}

async function readJson(
  text: string,
  wanted: RowsWanted,
  sink: RowSink & { readonly text: PushText },
): Promise<JsonValue | undefined> {
  const { path, maxDepth, pace, next } = wanted;
  let count = 0;
  const onElement = async (element: string) => {
    count += 1;
    await sink.text(element, `row ${count} of its answer`);
  };
  const { outer, isFound } = await splitJsonArray(text, { path, maxDepth, pace }, onElement);
  if (outer.length > SHORT) {
    const asked = { row: isFound ? null : path, value: next ?? null };
    const { row, value } = await parseLong(wanted, outer, { place: "its answer", ...asked });
    if (row !== undefined) await sink.chunk(row);
    else if (!isFound) throw rowsNotFound(path);
    return value;
  }
  const around = parseAt(outer, "its answer", maxDepth);
  const found = memberAt(around, path);
  if (!isFound && !isJsonObject(found)) throw rowsNotFound(path);
  if (!isFound && isJsonObject(found)) await sink.push(found);
  return next && memberAt(around, next);
}

function rowsNotFound(path: readonly string[]): StepFailure {
  const place = path.length === 0 ? "The answer" : `'${path.join(".")}' of the answer`;
  return new StepFailure("rows_not_found", `${place} is no array or object. Set 'rows'.`);
}

interface LongText extends Omit<ParseAsked, "maxDepth"> {
  readonly place: string;
}

/** As `parseAt`, in another process. */
async function parseLong(
  { parse, maxDepth }: Pick<RowsWanted, "parse" | "maxDepth">,
  text: string,
  { place, ...asked }: LongText,
): Promise<ParsedText> {
  try {
    return await parse(text, { maxDepth, ...asked });
  } catch (thrown) {
    if (!(thrown instanceof StepFailure)) throw thrown;
    if (thrown.code === "invalid_json") throw noJson(place);
    if (thrown.code === "too_deep") throw tooDeep(place, maxDepth);
    throw thrown.code === "row_too_large" ? rowTooLarge(place) : thrown;
  }
}

function rowOf(value: JsonValue): JsonObject {
  return isJsonObject(value) ? value : { value };
}

/** Refuses what nests too deeply before it is parsed: it takes long, and nothing can write it again. */
function parseAt(text: string, place: string, maxDepth: number): JsonValue {
  if (text.length > maxDepth && isDeeperThan(maxDepth, Buffer.from(text))) {
    throw tooDeep(place, maxDepth);
  }
  const value = tryParse(text);
  if (value === undefined) throw noJson(place);
  return value;
}

function tryParse(text: string): JsonValue | undefined {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}
