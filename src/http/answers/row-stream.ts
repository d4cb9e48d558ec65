import type { JsonObject, JsonValue } from "../../lib/json.ts";

/** How rows are written one after the other. */
export const ROW_FORMATS = {
  csv: {
    type: "text/csv; charset=utf-8; header=present",
    head: (columns: readonly string[]) => lineOf(columns),
    row: (row: JsonObject, columns: readonly string[]) =>
      lineOf(columns.map((name) => row[name] ?? null)),
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
  readonly columns: readonly string[];
  readonly batches: AsyncGenerator<readonly JsonObject[], void>;
  /** Called when the client has gone. */
  readonly onCancel: () => void;
}

/** Answers with rows as fast as the client takes them: the next batch is read when the last one was sent. */
export function rowStreamResponse(given: RowStream): Response {
  const { format, name, columns, batches, onCancel } = given;
  const { type, head, row } = ROW_FORMATS[format];
  const encoder = new TextEncoder();
  let hasHead = false;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await batches.next();
        const start = hasHead ? "" : head(columns);
        hasHead = true;
        const text = start + (value ?? []).map((found) => row(found, columns)).join("");
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
function lineOf(cells: readonly JsonValue[]): string {
  return `${cells.map(cellOf).join(",")}\r\n`;
}

function cellOf(value: JsonValue): string {
  if (value === null) return "";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  return text === "" || /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
