import { type ErrorCode, ServiceError } from "../../core/service-error.ts";
import { beingMade } from "../copy/open-copy-feed.ts";
import type { Admission, AdmissionRefusal, Principal } from "../principal.ts";
import type { DataProcess, ProcessAnswer } from "../process/data-process.ts";
import type { ReadFailure, ReadRequest } from "../process/process-messages.ts";
import type { SchemaView as View } from "../views/data-view.ts";
import { wrong } from "./column-value.ts";
import { DEFAULT_PAGE_ROWS, type ListQuery, MAX_PAGE_ROWS, readListQuery } from "./list-query.ts";
import { listStatement } from "./list-statement.ts";
import { readError } from "./read-error.ts";

/** The SQLSTATE of a relation that does not exist. */
const UNDEFINED_TABLE = "42P01";
const MAX_FAILURE_BYTES = 64 * 1024;

/** What reads of data need. */
export interface DataReads {
  readonly process: Pick<DataProcess, "request">;
  /** All views that are there now. */
  readonly listViews: () => Promise<readonly View[]>;
  /** Reads how much views hold, by their names. */
  readonly readExtents: (views: readonly View[]) => Promise<ReadonlyMap<string, ViewExtent>>;
  /** The time, in Unix milliseconds, of what a view shows now; null asks for the oldest of all views. */
  readonly asOf: (view: View | null) => Promise<number>;
  /** True where a copy is read, which may lack a view that is there. */
  readonly isCopy: boolean;
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

/** An answer whose bytes come from the data process as they are. */
export interface DataAnswer {
  readonly format: Format;
  readonly contentType: string;
  /** Unix milliseconds. */
  readonly asOf: number;
  /** Rejects where the answer is cut, after the line that says so. */
  readonly body: AsyncIterable<Uint8Array>;
}

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
  return relay(
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
  return relay(
    reads,
    { view: null, signal },
    {
      ...{ principal, login, format, via: "query", sql, values, spreadsheet, rows, paging: null },
    },
  );
}

async function relay(
  reads: DataReads,
  { view, signal }: { readonly view: View | null; readonly signal: AbortSignal },
  request: Omit<ReadRequest, "asOf">,
): Promise<DataAnswer> {
  const { process } = reads;
  const asOf = await reads.asOf(view);
  const body: ReadRequest = { ...request, asOf: new Date(asOf).toISOString() };
  const answer = await process.request("/read", body, signal);
  if (answer.status !== 200) {
    const failure = await failureOf(answer);
    if (reads.isCopy && (await isNotCopied(reads, { ...request, view }, failure)))
      throw beingMade();
    throw readError(failure, request.via);
  }
  const contentType = answer.headers["content-type"] ?? "application/octet-stream";
  return { format: request.format, contentType, asOf, body: answer.body };
}

/** Whether a view is missing that is there for the caller: the embedded copy does not have it yet. */
async function isNotCopied(
  { listViews }: DataReads,
  { principal, view }: Pick<ReadRequest, "principal"> & { readonly view: View | null },
  { code, message }: ReadFailure,
): Promise<boolean> {
  if (code !== UNDEFINED_TABLE) return false;
  const views = (await listViews()).filter(({ name }) => principal.views.includes(name));
  const isMeant = ({ name }: View) =>
    view === null
      ? [`"${name}"`, `"data.${name}"`].some((named) => message.includes(named))
      : view.name === name;
  return views.some(isMeant);
}

async function failureOf({ body }: ProcessAnswer): Promise<ReadFailure> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_FAILURE_BYTES) break;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString()) as ReadFailure;
  } catch {
    return { code: "58000", message: "The process that reads data gave no answer; try it again." };
  }
}
