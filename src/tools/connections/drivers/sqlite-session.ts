import { fileURLToPath } from "node:url";
import type { FileConnections } from "../../../knowledge/file-connections.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import { openWorkers, type Workers } from "../../../lib/worker/open-workers.ts";
import { WorkFailure } from "../../../lib/worker/work-failure.ts";
import type { QueryRows } from "../connection.ts";
import type { SqliteJob, SqliteResult } from "./read-sqlite.ts";
import { DriverFault, type OpenSession, type Session, type SessionQuery } from "./session.ts";

const PROGRAM = fileURLToPath(new URL("./read-sqlite.ts", import.meta.url));
/** Files that are read at once; others wait. A connection has one of them at most. */
const PROCESSES = 3;
const MEMORY_BYTES = 512 * 1024 * 1024;
const IDLE_MS = 60_000;
/** Bytes of JSON for a byte of a value, at most. */
const JSON_BYTES = 6;
const PATH_MAX_BYTES = 500;

export interface SqliteDriver {
  readonly open: OpenSession;
  readonly close: () => void;
}

export interface SqliteDriverOptions {
  readonly files: Pick<FileConnections, "resolve">;
}

/** Opens the driver of SQLite: each query runs in a process that is killed when it takes too long or too much. */
export function openSqliteDriver({ files }: SqliteDriverOptions): SqliteDriver {
  const workers = openWorkers({
    program: PROGRAM,
    processes: PROCESSES,
    memoryBytes: MEMORY_BYTES,
    idleMs: IDLE_MS,
  });
  return {
    async open({ connection: { file } }) {
      const path = await findFile(files, file ?? "");
      return sessionOf(workers, path);
    },
    close: workers.close,
  };
}

/** Resolves `workspace/reports/a.db`: the name of a file connection, and the path in it. */
async function findFile(files: SqliteDriverOptions["files"], file: string): Promise<string> {
  const slash = file.indexOf("/");
  const path = await files.resolve(file.slice(0, slash), file.slice(slash + 1));
  if (Buffer.byteLength(path) > PATH_MAX_BYTES) {
    throw new DriverFault("file", "The path of the file is too long.");
  }
  return path;
}

/** Good for one query, because the path may mean another file at the next. */
function sessionOf(workers: Workers, path: string): Session {
  const ending = new AbortController();
  let isUsed = false;
  return {
    async read(query) {
      isUsed = true;
      try {
        return await readRows(workers, { path, query, signal: ending.signal });
      } catch (thrown) {
        if (!(thrown instanceof WorkFailure)) throw thrown;
        throw faultOf(thrown);
      }
    },
    // The library knows no locks that other programs heed, and would damage a file that one of them writes.
    async write() {
      throw new DriverFault("statement", "Rows are not written to SQLite files.");
    },
    cancel: async () => ending.abort(new DriverFault("statement", "The query was cancelled.")),
    reset: async () => undefined,
    isUsable: () => !isUsed,
    close: () => ending.abort(new DriverFault("statement", "The connection was closed.")),
  };
}

interface Reading {
  readonly path: string;
  readonly query: SessionQuery;
  readonly signal: AbortSignal;
}

async function readRows(workers: Workers, { path, query, signal }: Reading): Promise<QueryRows> {
  const { sql, parameters = [], maxRows, maxBytes, timeoutMs } = query;
  const job: SqliteJob = { path, sql, parameters, maxRows, maxBytes };
  const limits = { signal, timeMs: timeoutMs, outputBytes: maxBytes * JSON_BYTES };
  let columns: readonly string[] = [];
  let isCut = false;
  const rows: (readonly JsonValue[])[] = [];
  for await (const given of workers.run(job, limits)) {
    const result = given as SqliteResult;
    if ("row" in result) rows.push(result.row);
    else if ("columns" in result) columns = result.columns;
    else isCut = result.isCut;
  }
  return { columns, rows, isCut };
}

function faultOf({ reason, message }: WorkFailure): Error {
  switch (reason) {
    case "failed":
      return new DriverFault("statement", message);
    case "output":
      return new DriverFault(
        "too_large",
        "The result, or one row of it, is too large. Select fewer or shorter columns.",
      );
    case "memory":
      return new DriverFault("too_large", "The query needs too much memory. Select less at once.");
    case "time":
      return new DriverFault("statement", "The query took too long.");
    case "crashed":
      return new DriverFault("file", "The file could not be read: it may be damaged.");
    case "closed":
      return new DriverFault("statement", "The server is stopping.");
  }
}
