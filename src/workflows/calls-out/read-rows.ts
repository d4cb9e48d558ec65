import type { EgressResponse } from "../../lib/egress/egress.ts";
import { parseExactJson } from "../../lib/exact-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";
import { isDeeperThan } from "../../lib/json-depth.ts";
import { LineReader } from "../../lib/line-reader.ts";
import { MAX_ROW_BYTES, type Row } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { noJson, rowTooLarge, tooDeep } from "./answer-failures.ts";
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
  /** Of JSON. */
  readonly maxDepth: number;
  readonly pace: ReadingPace;
}

type PushRow = (row: Row) => Promise<void>;

/** What a row costs beside its bytes, as bytes of work. */
const ROW_WORK = 256;
const MEDIA_TYPES: readonly (readonly [RegExp, RowFormat])[] = [
  [/(?:ndjson|jsonl|json-lines|x-json-stream)$/, "ndjson"],
  [/(?:\/|\+)json$/, "json"],
  [/\/csv$/, "csv"],
];

/**
 * Reads the rows of an answer as they arrive. Returns what stands around the rows of a JSON answer, for its link to the
 * next page. An answer may be hostile: nothing beyond the size of a row is parsed at once. Rejects with a `StepFailure`
 * that names the place, and no data.
 */
export async function readRows(
  response: EgressResponse,
  wanted: RowsWanted,
  push: PushRow,
): Promise<JsonValue | undefined> {
  const { pace } = wanted;
  const pieces = pace.pieces(response.body);
  const pushPaced = async (row: Row, bytes: number) => {
    await push(row);
    await pace.worked(bytes + ROW_WORK);
  };
  switch (wanted.format === "auto" ? formatOf(response) : wanted.format) {
    case "ndjson":
      await readLines(pieces, wanted, pushPaced);
      return undefined;
    case "csv":
      await readCsv(pieces, wanted.delimiter, pushPaced);
      return undefined;
    case "json":
      return readJson(await readText(pieces), wanted, pushPaced);
    default:
      await push({ text: await readText(pieces, MAX_ROW_BYTES) });
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

type PushPaced = (row: Row, bytes: number) => Promise<void>;

async function readLines(
  pieces: AsyncIterable<Uint8Array>,
  { maxDepth }: RowsWanted,
  push: PushPaced,
): Promise<void> {
  const lines = new LineReader(MAX_ROW_BYTES);
  let line = 0;
  const pushAll = async (texts: readonly string[]) => {
    for (const text of texts) {
      line += 1;
      await push(rowOf(parseAt(text, `line ${line} of its answer`, maxDepth)), text.length);
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
  { path, maxDepth, pace }: RowsWanted,
  push: PushPaced,
): Promise<JsonValue | undefined> {
  let count = 0;
  const onElement = async (element: string) => {
    count += 1;
    await push(rowOf(parseAt(element, `row ${count} of its answer`, maxDepth)), element.length);
  };
  const { outer, isFound } = await splitJsonArray(text, { path, maxDepth, pace }, onElement);
  const around = parseAt(outer, "its answer", maxDepth);
  if (isFound) return around;
  const found = memberAt(around, path);
  if (!isJsonObject(found)) {
    const place = path.length === 0 ? "The answer" : `'${path.join(".")}' of the answer`;
    throw new StepFailure("rows_not_found", `${place} is no array or object. Set 'rows'.`);
  }
  await push(found, outer.length);
  return around;
}

/** Returns the value that members lead to; undefined where there is none. */
export function memberAt(
  value: JsonValue | undefined,
  path: readonly string[],
): JsonValue | undefined {
  let found = value;
  for (const name of path) {
    found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return found;
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
