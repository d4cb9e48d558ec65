import { z } from "@hono/zod-openapi";
import { type CsvCell, csvText } from "../../lib/text/csv.ts";
import type { RequestContext } from "../request/routes/route.ts";

/** The format of the answer. */
export const queryFormat = z.enum(["json", "csv"]);

export interface Table {
  /** The name of the file, without `.csv`. */
  readonly name: string;
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, CsvCell | undefined>>[];
  /** The parameters, by name, that request the next page together with those of this one; null for the last page. */
  readonly next: Readonly<Record<string, string>> | null;
}

/** Returns true when a client prefers CSV: `format` decides if it is set, otherwise the `accept` header. */
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

/** Returns a table as a CSV file. The header `link` names the next page, if there is one. */
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
