import { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse";
import type { EgressResponse } from "../../lib/egress/egress.ts";
import { parseExactJson } from "../../lib/exact-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../lib/json.ts";
import { LineReader } from "../../lib/line-reader.ts";
import { MAX_ROW_BYTES, type Row } from "../rows/row.ts";
import { StepFailure } from "../runs/run.ts";
import { splitJsonArray } from "./split-json-array.ts";

export const ROW_FORMATS = ["auto", "json", "ndjson", "csv", "text"] as const;
export type RowFormat = (typeof ROW_FORMATS)[number];

export interface RowsWanted {
  readonly format: RowFormat;
  /** The members that lead to the rows of a JSON answer; empty for the answer itself. */
  readonly path: readonly string[];
  /** Between the columns of CSV. */
  readonly delimiter: string;
}

type PushRow = (row: Row) => Promise<void>;

const MEDIA_TYPES: readonly (readonly [RegExp, RowFormat])[] = [
  [/(?:ndjson|jsonl|json-lines|x-json-stream)$/, "ndjson"],
  [/(?:\/|\+)json$/, "json"],
  [/\/csv$/, "csv"],
];

/**
 * Reads the rows of an answer as they arrive. Returns what stands around the rows of a JSON answer, for its link to the
 * next page. Rejects with a `StepFailure` that names the place, and no data.
 */
export async function readRows(
  response: EgressResponse,
  wanted: RowsWanted,
  push: PushRow,
): Promise<JsonValue | undefined> {
  const format = wanted.format === "auto" ? formatOf(response) : wanted.format;
  switch (format) {
    case "ndjson":
      await readLines(response, push);
      return undefined;
    case "csv":
      await readCsv(response, wanted.delimiter, push);
      return undefined;
    case "json":
      return readJson(await readText(response), wanted.path, push);
    default:
      await push({ text: await readText(response) });
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

async function readText({ body }: EgressResponse): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return new TextDecoder().decode(Buffer.concat(pieces));
}

async function readLines({ body }: EgressResponse, push: PushRow): Promise<void> {
  const lines = new LineReader(MAX_ROW_BYTES);
  let line = 0;
  const pushAll = async (texts: readonly string[]) => {
    for (const text of texts) {
      line += 1;
      await push(rowOf(parseAt(text, `line ${line} of its answer`)));
    }
  };
  for await (const piece of body) await pushAll(lines.read(piece));
  await pushAll(lines.end());
  if (!lines.tooLong) return;
  throw new StepFailure("row_too_large", `Line ${line + 1} of the answer is longer than a row.`);
}

async function readCsv({ body }: EgressResponse, delimiter: string, push: PushRow): Promise<void> {
  const parser = parse({
    bom: true,
    delimiter,
    skip_empty_lines: true,
    max_record_size: MAX_ROW_BYTES,
  });
  const source = Readable.from(body);
  source.on("error", (thrown) => parser.destroy(thrown));
  source.pipe(parser);
  let columns: readonly string[] | undefined;
  try {
    for await (const record of parser as AsyncIterable<readonly string[]>) {
      if (columns === undefined) columns = record;
      else
        await push(Object.fromEntries(columns.map((name, index) => [name, record[index] ?? null])));
    }
  } catch (thrown) {
    if (!(thrown instanceof CsvError)) throw thrown;
    throw noCsv(parser.info.lines);
  } finally {
    source.destroy();
  }
}

async function readJson(
  text: string,
  path: readonly string[],
  push: PushRow,
): Promise<JsonValue | undefined> {
  let count = 0;
  const { outer, isFound } = await splitJsonArray(text, path, async (element) => {
    count += 1;
    await push(rowOf(parseAt(element, `row ${count} of its answer`)));
  });
  const around = parseAt(outer, "its answer");
  if (isFound) return around;
  const found = memberAt(around, path);
  if (!isJsonObject(found)) {
    const place = path.length === 0 ? "The answer" : `'${path.join(".")}' of the answer`;
    throw new StepFailure("rows_not_found", `${place} is no array or object. Set 'rows'.`);
  }
  await push(found);
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

function parseAt(text: string, place: string): JsonValue {
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

// The parsers' own errors quote the data, so they are not kept as causes.

function noJson(place: string): StepFailure {
  return new StepFailure("invalid_json", `The address answered what is no JSON: ${place}.`);
}

function noCsv(line: number): StepFailure {
  return new StepFailure(
    "invalid_csv",
    `The answer is no CSV: line ${line} is malformed or has another number of columns.`,
  );
}
