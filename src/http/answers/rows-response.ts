import { ServiceError } from "../../core/service-error.ts";
import type { JsonValue } from "../../lib/json/json.ts";
import { type CsvCell, csvLine } from "../../lib/text/csv.ts";
import { unpackRows, unpackText } from "../../workflows/rows/pack-rows.ts";
import type { Row, RowChunk } from "../../workflows/rows/row.ts";

/** More than spreadsheets read; NDJSON has no such limit. */
const MAX_COLUMNS = 16_384;

/** Rows that are read anew at each call, chunk by chunk. */
export type ReadRows = () => AsyncGenerator<RowChunk>;

/** Answers with all rows as lines of JSON, as fast as the client takes them. */
export function ndjsonResponse(read: ReadRows, name: string): Response {
  return download(unpacked(read()), { type: "application/x-ndjson", name: `${name}.ndjson` });
}

/**
 * Answers with all rows as CSV, as fast as the client takes them. Rows need not have the same fields, so they are read
 * twice: the first time for the names of the columns. Texts that spreadsheets would run as formulas are defused, values
 * that are no scalars are JSON. Rejects with `invalid_value` when there are too many columns.
 */
export async function csvResponse(read: ReadRows, name: string): Promise<Response> {
  const columns = await readColumns(read());
  return download(csvPieces(columns, read()), {
    type: "text/csv; charset=utf-8",
    name: `${name}.csv`,
  });
}

async function readColumns(chunks: AsyncGenerator<RowChunk>): Promise<readonly string[]> {
  const columns = new Set<string>();
  for await (const chunk of chunks) {
    for (const row of await unpackRows(chunk)) {
      for (const name of Object.keys(row)) columns.add(name);
    }
    if (columns.size > MAX_COLUMNS) {
      throw new ServiceError(
        "invalid_value",
        `The rows have more than ${MAX_COLUMNS} fields, too many for CSV. Ask for format=ndjson.`,
        { param: "format" },
      );
    }
  }
  return [...columns];
}

async function* csvPieces(
  columns: readonly string[],
  chunks: AsyncGenerator<RowChunk>,
): AsyncGenerator<Uint8Array> {
  yield Buffer.from(csvLine(columns));
  for await (const chunk of chunks) {
    const rows = await unpackRows(chunk);
    yield Buffer.from(rows.map((row) => csvLine(cellsOf(columns, row))).join(""));
  }
}

function cellsOf(columns: readonly string[], row: Row): readonly CsvCell[] {
  return columns.map((name) => (Object.hasOwn(row, name) ? cellOf(row[name] ?? null) : null));
}

function cellOf(value: JsonValue): CsvCell {
  return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
}

async function* unpacked(chunks: AsyncGenerator<RowChunk>): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) yield await unpackText(chunk);
}

function download(
  pieces: AsyncGenerator<Uint8Array>,
  { type, name }: { readonly type: string; readonly name: string },
): Response {
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    // Nothing is read ahead of the client.
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${name}"`,
      "cache-control": "private, no-store",
      "x-content-type-options": "nosniff",
    },
  });
}
