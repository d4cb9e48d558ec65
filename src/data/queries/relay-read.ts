import { beingMade, type CopyFeed } from "../copy/open-copy-feed.ts";
import type { DataProcess, ProcessAnswer } from "../process/data-process.ts";
import type { ReadFailure, ReadRequest } from "../process/process-messages.ts";
import type { SchemaView as View } from "../views/data-view.ts";
import { BUILT_IN_VIEWS } from "../views/registry.ts";
import { readError } from "./read-error.ts";

/** SQLSTATEs of a relation and of a column that do not exist. */
const UNDEFINED_TABLE = "42P01";
const UNDEFINED_COLUMN = "42703";
const BUILT_IN = BUILT_IN_VIEWS.map(({ name }) => name);
/** Texts of an error, and the names that a statement of 128 KiB can have. */
const MAX_FAILURE_BYTES = 512 * 1024;

/** Where rows are read. */
export interface ReadSource {
  readonly process: Pick<DataProcess, "request">;
  /** All views that are there now. */
  readonly listViews: () => Promise<readonly View[]>;
  /** The time, in Unix milliseconds, of what these views show now: of the oldest. A copy may have to get them first. */
  readonly asOf: CopyFeed["asOf"];
  /** Null where no copy is read. A copy may lack what is there. */
  readonly copy: Pick<CopyFeed, "lacks" | "renewed"> | null;
}

/** An answer whose bytes come from the data process as they are. */
export interface DataAnswer {
  readonly format: ReadRequest["format"];
  readonly contentType: string;
  /** Unix milliseconds. */
  readonly asOf: number;
  /** Rejects where the answer is cut, after the line that says so. */
  readonly body: AsyncIterable<Uint8Array>;
}

interface Asked {
  /** Null for a statement of the caller's own. */
  readonly view: View | null;
  readonly signal: AbortSignal;
}

/** Reads rows. What a copy does not have yet is waited for, and read again once. */
export async function relayRead(
  source: ReadSource,
  { view, signal }: Asked,
  request: Omit<ReadRequest, "asOf">,
): Promise<DataAnswer> {
  const ask = (asOf: number) => readOnce(source, { ...request, asOf: isoTime(asOf) }, signal);
  const lacking = (failure: ReadFailure) => lackOf(source, { ...request, view }, failure);
  const firstAsOf = await (view === null
    ? source.asOf(BUILT_IN, request.principal.views)
    : source.asOf([view.name]));
  const first = await ask(firstAsOf);
  if (!("failure" in first)) return { ...first, asOf: firstAsOf };
  const caughtUp = await lacking(first.failure);
  if (caughtUp === undefined) throw readError(first.failure, request.via);
  const secondAsOf = await caughtUp();
  const second = await ask(secondAsOf);
  if (!("failure" in second)) return { ...second, asOf: secondAsOf };
  const isStillLacking = (await lacking(second.failure)) !== undefined;
  throw isStillLacking ? beingMade() : readError(second.failure, request.via);
}

const isoTime = (time: number): string => new Date(time).toISOString();

async function readOnce(
  { process }: ReadSource,
  body: ReadRequest,
  signal: AbortSignal,
): Promise<Omit<DataAnswer, "asOf"> | { readonly failure: ReadFailure }> {
  const answer = await process.request("/read", body, signal);
  if (answer.status !== 200) return { failure: await failureOf(answer) };
  const contentType = answer.headers["content-type"] ?? "application/octet-stream";
  return { format: body.format, contentType, body: answer.body };
}

/** Returns what waits for the copy where it does not have yet what a failed statement read; undefined where it does. */
async function lackOf(
  { copy, listViews, asOf }: ReadSource,
  { principal, view }: Pick<ReadRequest, "principal"> & Pick<Asked, "view">,
  { code, relations = [] }: ReadFailure,
): Promise<(() => Promise<number>) | undefined> {
  if (copy === null || (code !== UNDEFINED_TABLE && code !== UNDEFINED_COLUMN)) return undefined;
  const there = new Set((await listViews()).map(({ name }) => name));
  if (view !== null) {
    // A list names only what its view has, so the copy has the view of before a change.
    return there.has(view.name) ? () => copy.renewed([view.name]) : undefined;
  }
  const meant = new Set(relations);
  const lacking = principal.views.filter(
    (name) => meant.has(name) && there.has(name) && copy.lacks(name),
  );
  return lacking.length === 0 ? undefined : () => asOf(lacking, principal.views);
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
