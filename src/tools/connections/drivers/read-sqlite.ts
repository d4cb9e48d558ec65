// The program of the process that reads SQLite files: each job is a query, its results are the columns and the rows.
import fs from "node:fs";
import { createRequire } from "node:module";
import { isInItsFolder, READ_FLAGS } from "../../../lib/folders/opened-path.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import type { SqlParameter } from "../../../lib/sql-gate/tokens/fill-placeholders.ts";
import { serveJobs } from "../../../lib/worker/serve-jobs.ts";
import { DriverFault, tooLarge } from "./session.ts";
import { bytes, float } from "./values.ts";

/** What the process is asked to do. */
export interface SqliteJob {
  /** Absolute, without symbolic links. */
  readonly path: string;
  readonly sql: string;
  readonly parameters: readonly SqlParameter[];
  readonly maxRows: number;
  readonly maxBytes: number;
}

export type SqliteResult =
  | { readonly columns: readonly string[] }
  | { readonly row: readonly JsonValue[] }
  | { readonly isCut: boolean };

/** The part of the library's statement that it does not declare, but that alone keeps columns of the same name apart. */
interface Statement {
  _getColumnNames(): string[];
  iterate(values: readonly SqlParameter[]): Iterable<Record<string, unknown>>;
  finalize(): void;
}
interface Database {
  exec(sql: string): void;
  prepare(sql: string): Statement;
  close(): void;
}
interface Library {
  readonly Database: new (path: string, options: { readonly readOnly: true }) => Database;
}

const HEADER = Buffer.from("SQLite format 3\0", "latin1");
/** Times that a file is read again because somebody wrote to it meanwhile. */
const MOST_TRIES = 3;
const PRAGMAS = [
  // Without it a file with a write-ahead log would need memory that processes share.
  "locking_mode = exclusive",
  "query_only = on",
  "temp_store = memory",
  "trusted_schema = off",
  "cell_size_check = on",
];

const { openSync, fstatSync, readSync, closeSync, statSync } = fs;
/** The file of the current job. */
let current = "";
const { Database } = createRequire(import.meta.url)("node-sqlite3-wasm") as Library;
confine();

serveJobs((job) => readFile(job as SqliteJob));

async function* readFile(job: SqliteJob): AsyncGenerator<SqliteResult, void> {
  current = job.path;
  for (let tries = 1; ; tries += 1) {
    const before = stateOf(job.path);
    try {
      const results = [...readOnce(job)];
      if (stateOf(job.path) === before) {
        yield* results;
        return;
      }
    } catch (thrown) {
      if (stateOf(job.path) === before) throw thrown;
    }
    if (tries === MOST_TRIES) {
      throw new DriverFault("file", "The file was written to while it was read; try again.");
    }
  }
}

function* readOnce({
  path,
  sql,
  parameters,
  maxRows,
  maxBytes,
}: SqliteJob): Generator<SqliteResult, void> {
  checkHeader(path);
  const database = new Database(path, { readOnly: true });
  try {
    for (const pragma of PRAGMAS) database.exec(`pragma ${pragma}`);
    // Only the first statement of a text is ever prepared.
    const statement = database.prepare(sql);
    try {
      const columns = statement._getColumnNames();
      statement._getColumnNames = () => columns.map((_, index) => `${index}`);
      yield { columns };
      let count = 0;
      let size = 0;
      for (const record of statement.iterate(parameters)) {
        count += 1;
        if (count > maxRows) break;
        const row = columns.map((_, index) => decode(record[`${index}`]));
        size += row.reduce<number>((sum, value) => sum + String(value).length, 0);
        if (size > maxBytes) throw tooLarge(maxBytes);
        yield { row };
      }
      yield { isCut: count > maxRows };
    } finally {
      statement.finalize();
    }
  } finally {
    database.close();
  }
}

function decode(value: unknown): JsonValue {
  if (value instanceof Uint8Array) return bytes(value);
  if (typeof value === "number") return Number.isFinite(value) ? value : float(String(value));
  if (value === null || typeof value === "string") return value;
  // An integer beyond 2^53.
  return String(value);
}

function checkHeader(path: string): void {
  const file = openFile(path);
  try {
    const header = Buffer.alloc(HEADER.length);
    readSync(file, header, 0, HEADER.length, 0);
    if (!header.equals(HEADER)) throw new DriverFault("file", "The file is no SQLite database.");
  } finally {
    closeSync(file);
  }
}

/** Other programs lock the file in a way that the library does not know, so a change is noticed here. */
function stateOf(path: string): string {
  return ["", "-wal", "-journal"]
    .map((end) => {
      const found = statSync(path + end, { bigint: true, throwIfNoEntry: false });
      return found === undefined ? "" : `${found.ino}.${found.size}.${found.mtimeNs}`;
    })
    .join();
}

/**
 * From here on this process opens the file of its job and the two beside it that belong to it, to read, and nothing
 * else: neither ATTACH nor a faulty file reaches further. The library's locks are folders beside the file, which other
 * programs do not heed and which would stay when this process is killed, so none is made.
 */
function confine(): void {
  const refuse = () => {
    throw Object.assign(new Error("this process only reads"), { code: "EROFS" });
  };
  Object.assign(fs, {
    mkdirSync: () => undefined,
    rmdirSync: () => undefined,
    unlinkSync: refuse,
    writeSync: refuse,
    ftruncateSync: refuse,
    renameSync: refuse,
    openSync(path: string) {
      if (path === current || path === `${current}-journal`) return openFile(path);
      if (path !== `${current}-wal`) return refuse();
      // The library would create a missing log; an empty one means the same.
      const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
      return isThere ? openFile(path) : openSync("/dev/null", READ_FLAGS);
    },
  });
}

/** A link that took the place of the file or of a level is not followed, and a pipe does not make the process wait. */
function openFile(path: string): number {
  const file = openSync(path, READ_FLAGS);
  if (fstatSync(file).isFile() && isInItsFolder(file, path)) return file;
  closeSync(file);
  throw new DriverFault("file", "It is no regular file, or its place has changed.");
}
