import type { Dataset } from "../../data/datasets/datasets.ts";
import type { JsonObject, JsonValue } from "../../lib/json/json.ts";
import { defused } from "../../lib/text/csv.ts";

type Columns = Dataset["columns"];
/** Their texts are numbers, and a minus before them is no formula. */
const NUMBERS: ReadonlySet<Columns[number]["type"]> = new Set(["integer", "decimal", "number"]);

type Quote = (text: string) => string;

/** How rows are written one after the other. */
export const ROW_FORMATS = {
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    head: (columns: Columns, safe: Quote) => lineOf(columns.map(({ name }) => cellOf(name, safe))),
    row: (row: JsonObject, columns: Columns, safe: Quote) =>
      lineOf(
        columns.map(({ name, type }) => {
          const value = row[name] ?? null;
          // An import reads JSON, and JSON begins no formula: its texts stand in quotation marks.
          if (type === "json" && value !== null) return cellOf(JSON.stringify(value), asItIs);
          return cellOf(value, NUMBERS.has(type) ? asItIs : safe);
        }),
      ),
  },
  ndjson: {
    type: "application/x-ndjson",
    head: () => "",
    row: (row: JsonObject) => `${JSON.stringify(row)}\n`,
  },
} as const;

export interface RowStream {
  readonly format: keyof typeof ROW_FORMATS;
  /** The name of the file, without its extension. */
  readonly name: string;
  readonly columns: Columns;
  /** Texts of CSV as they are, also those that a spreadsheet would run as formulas. */
  readonly isRaw: boolean;
  readonly batches: AsyncGenerator<readonly JsonObject[], void>;
  /** Called when the client has gone. */
  readonly onCancel: () => void;
}

/** Answers with rows as fast as the client takes them: the next batch is read when the last one was sent. */
export function rowStreamResponse(given: RowStream): Response {
  const { format, name, columns, batches, onCancel } = given;
  const safe = given.isRaw ? asItIs : defused;
  const { type, head, row } = ROW_FORMATS[format];
  const encoder = new TextEncoder();
  let hasHead = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await batches.next();
        const start = hasHead ? "" : head(columns, safe);
        hasHead = true;
        const text = start + (value ?? []).map((found) => row(found, columns, safe)).join("");
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (done === true) controller.close();
      },
      async cancel() {
        onCancel();
        await batches.return();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-disposition": `attachment; filename="${name}.${format}"`,
      "cache-control": "private, no-store",
    },
  });
}

/** A line of RFC 4180. Null is an empty cell, an empty text is `""`, so that an import reads the same values. */
function lineOf(cells: readonly string[]): string {
  return `${cells.join(",")}\r\n`;
}

function asItIs(text: string): string {
  return text;
}

function cellOf(value: JsonValue, safe: Quote): string {
  if (value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : safe(String(value));
  return text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
