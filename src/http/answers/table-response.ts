import { z } from "@hono/zod-openapi";
import type { RequestContext } from "../request/route.ts";
import { type CsvCell, csvText } from "./csv.ts";

/** How the answer is written. */
export const queryFormat = z.enum(["json", "csv"]);

export interface Table {
  /** Of the file, without `.csv`. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, CsvCell | undefined>>[];
  /** The parameters, by name, with which the next page is asked for beside those of this one; null: this is the last. */
  readonly next: Readonly<Record<string, string>> | null;
}

/** True when a client would rather have CSV: `format` decides, else what it accepts. */
export function wantsCsv({ req }: RequestContext, format: "json" | "csv" | undefined): boolean {
  if (format !== undefined) return format === "csv";
  const accept = req.header("accept") ?? "";
  return qualityOf("text/csv", accept) > qualityOf("application/json", accept);
}

function qualityOf(type: string, accept: string): number {
  for (const range of accept.toLowerCase().split(",")) {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim());
    if (name !== type) continue;
    const quality = parameters.find((parameter) => parameter.startsWith("q="));
    return quality === undefined ? 1 : Number(quality.slice(2)) || 0;
  }
  return 0;
}

/** A table as a CSV file. Where there is a next page the header `link` says so. */
export function tableResponse({ req }: RequestContext, table: Table): Response {
  const headers = new Headers({
    "content-type": "text/csv; charset=utf-8",
    "content-disposition": `attachment; filename="${table.name}.csv"`,
    vary: "accept",
  });
  if (table.next !== null) {
    const { pathname, searchParams } = new URL(req.url);
    for (const [name, value] of Object.entries(table.next)) searchParams.set(name, value);
    headers.set("link", `<${pathname}?${searchParams}>; rel="next"`);
  }
  return new Response(csvText(table.columns, table.rows), { headers });
}
