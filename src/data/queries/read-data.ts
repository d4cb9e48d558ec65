import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import type { Admission, AdmissionRefusal, Principal } from "../principal.ts";
import type { ReadRequest } from "../process/process-messages.ts";
import type { SchemaView as View } from "../views/data-view.ts";
import { wrong } from "./column-value.ts";
import { DEFAULT_PAGE_ROWS, type ListQuery, MAX_PAGE_ROWS, readListQuery } from "./list-query.ts";
import { listStatement } from "./list-statement.ts";
import { type DataAnswer, type ReadSource, relayRead } from "./relay-read.ts";

/** What reads of data need. */
export interface DataReads extends ReadSource {
  /** Reads how much views hold, by their names. */
  readonly readExtents: (views: readonly View[]) => Promise<ReadonlyMap<string, ViewExtent>>;
  /** Authenticates places in lists; the same on all replicas. */
  readonly placeSecret: Buffer;
}

export interface ViewExtent {
  /** An estimate for large ones. */
  readonly rows: number;
  /** Unix milliseconds; null where it is not known. */
  readonly updatedAt: number | null;
}

/** Who may read now, as `Admission` has it. */
export type Admitted = Exclude<Admission, { readonly refusal: AdmissionRefusal }>;
export type Format = ReadRequest["format"];

const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  "28P01": "invalid_api_key",
  "28000": "insufficient_permission",
};

/** Throws the error of an admission that was refused. */
export function admitted(admission: Admission): Admitted {
  if (admission.refusal === undefined) return admission;
  const { code, message, hint } = admission.refusal;
  const text = hint === undefined ? message : `${message} ${hint}`;
  throw new ServiceError(REFUSALS[code] ?? "storage_unavailable", text, {
    ext: { sqlstate: code },
  });
}

/** Lists the views that the principal may read. */
export async function listData(
  { listViews, readExtents }: DataReads,
  { views: names }: Principal,
): Promise<readonly (View & ViewExtent)[]> {
  const views = (await listViews()).filter(({ name }) => names.includes(name));
  const extents = await readExtents(views);
  const unknown: ViewExtent = { rows: 0, updatedAt: null };
  return views.map((view) => ({ ...view, ...(extents.get(view.name) ?? unknown) }));
}

export interface ListRequest {
  readonly name: string;
  readonly parameters: URLSearchParams;
  /** The format that the client accepts, where no parameter names one. */
  readonly accepted: Format;
}

/** Reads rows of one view. Throws `not_found` for a view that the principal may not read, and `invalid_value`. */
export async function readList(
  reads: DataReads,
  { principal, login }: Admitted,
  { name, parameters, accepted }: ListRequest,
  signal: AbortSignal,
): Promise<DataAnswer> {
  const views = principal.views.includes(name) ? await reads.listViews() : [];
  const view = views.find((known) => known.name === name);
  if (view === undefined) {
    throw new ServiceError(
      "not_found",
      "There is no such table for this key. GET /v1/data lists them.",
    );
  }
  const query = readListQuery(view, parameters);
  const format = query.format ?? accepted;
  const page = format === "json" ? pageRows(query, principal) : null;
  const statement = listStatement(view, query, { page, secret: reads.placeSecret });
  return relayRead(
    reads,
    { view, signal },
    {
      ...{ principal, login, format, via: "list", ...statement },
      spreadsheet: query.spreadsheet,
      rows: page ?? query.limit,
    },
  );
}

function pageRows({ limit }: ListQuery, { rowLimit }: Principal): number {
  if (limit !== null && limit > MAX_PAGE_ROWS) {
    throw wrong(
      "limit",
      `a page of JSON has at most ${MAX_PAGE_ROWS} rows; csv and ndjson bring more`,
    );
  }
  return Math.min(limit ?? DEFAULT_PAGE_ROWS, rowLimit);
}

export interface QueryRequest {
  readonly sql: string;
  readonly values: readonly (string | null)[];
  readonly maxRows: number | null;
  readonly format: Format;
  readonly spreadsheet: boolean;
}

/** Runs a statement of the caller's own. */
export async function readStatement(
  reads: DataReads,
  { principal, login }: Admitted,
  { sql, values, maxRows, format, spreadsheet }: QueryRequest,
  signal: AbortSignal,
): Promise<DataAnswer> {
  if (format === "json" && maxRows !== null && maxRows > MAX_PAGE_ROWS) {
    throw wrong("max_rows", `JSON has at most ${MAX_PAGE_ROWS} rows; csv and ndjson bring more`);
  }
  const rows = maxRows ?? (format === "json" ? DEFAULT_PAGE_ROWS : null);
  return relayRead(
    reads,
    { view: null, signal },
    {
      ...{ principal, login, format, via: "query", sql, values, spreadsheet, rows, paging: null },
    },
  );
}
