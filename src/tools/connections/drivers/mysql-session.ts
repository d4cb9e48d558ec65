import { checkServerIdentity, type TLSSocket } from "node:tls";
import type { Connection } from "mysql2";
import { normalHost } from "../../../lib/egress/pinned-socket.ts";
import { failWith } from "../../../lib/fail-with.ts";
import type { JsonValue } from "../../../lib/json/json.ts";
import { fillPlaceholders } from "../../../lib/sql-gate/tokens/fill-placeholders.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { QueryRows } from "../connection.ts";
import { CountedStream, endOf } from "./counted-stream.ts";
import { decodeMysql, type MysqlColumn } from "./mysql-values.ts";
import type { ServerDriverOptions } from "./postgres-session.ts";
import type { OpenSession, Session, SessionWrite, Target } from "./session.ts";

/** The bytes of a login, and of the answers to our own statements. */
const OWN_BYTES = 1024 * 1024;
const LOCK_TIMEOUT_SECONDS = 5;

/** What the driver has and its types lack. */
interface Internals {
  stream: CountedStream | TLSSocket;
  startTLS(onSecure: (error?: Error) => void): void;
  reset(done: (error: Error | null) => void): void;
}
type Driver = Connection & Internals;

/** Creates the driver of MySQL and MariaDB. */
export function createOpenMysql(options: ServerDriverOptions): OpenSession {
  const open: OpenSession = async (target, signal) => {
    const { host, port } = target.connection;
    // Loaded for those that have such a connection: it takes memory and a part of each start.
    const mysql = await import("mysql2");
    const socket = await options.connect({ host: host ?? "", port: port ?? 0 }, signal);
    const stream = new CountedStream(socket);
    stream.allow(OWN_BYTES);
    const { driver, tlsFailure } = openDriver(mysql, { options, target, stream });
    const ended = failureOf(driver, stream);
    try {
      const version = await untilAborted(
        Promise.race([run(driver, "select version()"), ended]),
        signal,
      );
      const isMariadb = /mariadb/i.test(JSON.stringify(version));
      return sessionOf(driver, stream, {
        isMariadb,
        ended,
        cancel: async (cancelSignal) => {
          const other = await open(target, cancelSignal);
          const kill = `kill query ${Number(driver.threadId)}`;
          const query = { sql: kill, maxRows: 1, maxBytes: OWN_BYTES, timeoutMs: 5_000 };
          await untilAborted(other.read(query), cancelSignal).finally(() => other.close());
        },
      });
    } catch (thrown) {
      stream.destroy();
      // TLS reports its failure after the end of the connection below it.
      await new Promise((resolve) => setImmediate(resolve));
      throw signal.aborted ? signal.reason : (tlsFailure() ?? thrown);
    }
  };
  return open;
}

interface OpenedDriver {
  readonly driver: Driver;
  readonly tlsFailure: () => Error | undefined;
}

interface Opening {
  readonly options: ServerDriverOptions;
  readonly target: Target;
  readonly stream: CountedStream;
}

function openDriver(
  { createConnection }: Pick<typeof import("mysql2"), "createConnection">,
  { options: { authorities }, target: { connection, password }, stream }: Opening,
): OpenedDriver {
  const { port, database, user, tls } = connection;
  const host = normalHost(connection.host ?? "").replace(/^\[(.*)\]$/, "$1");
  const isVerified = tls === "verify";
  const driver = createConnection({
    host,
    port: port ?? 0,
    user: user ?? "",
    password: password ?? "",
    ...(database !== null && { database }),
    stream,
    ...(tls !== "off" && {
      ssl: {
        rejectUnauthorized: isVerified,
        ...(authorities !== undefined && { ca: authorities }),
      },
    }),
    // The server must not ask for files of this machine, and takes one statement at a time.
    flags: ["-LOCAL_FILES"],
    multipleStatements: false,
    // Otherwise it would compile code from the names of columns.
    disableEval: true,
    connectTimeout: 0,
  }) as unknown as Driver;
  return { driver, tlsFailure: watchTls(driver, host, isVerified) };
}

/**
 * Checks the host in the certificate before the login, if `isVerified`: the driver compares names only, and compares an
 * address with `localhost`. Returns how to find out what TLS failed with: the driver reports the end of the connection.
 */
function watchTls(driver: Driver, host: string, isVerified: boolean): () => Error | undefined {
  const start = driver.startTLS.bind(driver);
  let failure: Error | undefined;
  driver.startTLS = (onSecure) => {
    start((error) => {
      const secure = driver.stream as TLSSocket;
      const isToCheck = isVerified && error === undefined;
      failure = isToCheck ? checkServerIdentity(host, secure.getPeerCertificate()) : error;
      onSecure(failure);
    });
    driver.stream.on("error", (error) => {
      failure ??= error;
    });
  };
  return () => failure;
}

/** Rejects also when the driver fails outside of a statement. */
function failureOf(driver: Driver, stream: CountedStream): Promise<never> {
  const failed = new Promise<never>((_, reject) => {
    driver.on("error", reject);
  });
  const ended = Promise.race([failed, endOf(stream)]);
  ended.catch(() => undefined);
  return ended;
}

interface SessionParts extends Pick<Session, "cancel"> {
  readonly isMariadb: boolean;
  readonly ended: Promise<never>;
}

function sessionOf(
  driver: Driver,
  stream: CountedStream,
  { isMariadb, ended, cancel }: SessionParts,
): Session {
  const untilEnd = failWith(ended);
  const ask = (sql: string) => untilEnd(run(driver, sql));
  return {
    async read({ sql: given, parameters = [], maxRows, maxBytes, timeoutMs }) {
      stream.allow(OWN_BYTES);
      for (const statement of beginning({ maxRows, timeoutMs, isMariadb })) await ask(statement);
      stream.allow(maxBytes);
      const sql = parameters.length === 0 ? given : fillPlaceholders(given, parameters);
      return untilEnd(readRows(driver, stream, { sql, maxRows }));
    },
    async write(rows) {
      stream.allow(OWN_BYTES);
      await untilEnd(writeRows(driver, rows, isMariadb));
    },
    cancel,
    async reset() {
      stream.allow(OWN_BYTES);
      await ask("rollback");
      const done = new Promise<void>((resolve, reject) => {
        driver.reset((error) =>
          error === null || error === undefined ? resolve() : reject(error),
        );
      });
      await untilEnd(done);
    },
    isUsable: () => !stream.destroyed,
    close: () => {
      driver.destroy();
      stream.destroy();
    },
  };
}

interface Bounds {
  readonly maxRows: number;
  readonly timeoutMs: number;
  readonly isMariadb: boolean;
}

function beginning({ maxRows, timeoutMs, isMariadb }: Bounds): readonly string[] {
  const milliseconds = Math.max(1, Math.ceil(timeoutMs));
  const time = isMariadb
    ? `max_statement_time = ${milliseconds / 1_000}`
    : `max_execution_time = ${milliseconds}`;
  return [
    "set names utf8mb4",
    // What checks statements reads them as these modes do: double quotes enclose texts, backslashes escape.
    `set session sql_mode = 'NO_ENGINE_SUBSTITUTION', sql_select_limit = ${maxRows + 1}, ` +
      `lock_wait_timeout = ${LOCK_TIMEOUT_SECONDS}, ${time}`,
    "start transaction read only",
  ];
}

/** Strict, so that a value that does not fit is refused and not cut. */
async function writeRows(
  driver: Driver,
  { table, columns, key, rows, timeoutMs }: SessionWrite,
  isMariadb: boolean,
): Promise<void> {
  const seconds = Math.max(1, Math.ceil(timeoutMs / 1_000));
  await run(driver, "set names utf8mb4");
  // MySQL limits the time of reading statements only; the caller ends this one by `cancel`.
  const time = isMariadb ? `, max_statement_time = ${seconds}` : "";
  await run(
    driver,
    `set session sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = ${LOCK_TIMEOUT_SECONDS}, lock_wait_timeout = ${LOCK_TIMEOUT_SECONDS}${time}`,
  );
  const quote = (name: string) => `\`${name.replaceAll("`", "``")}\``;
  const others = columns.filter((column) => !key.includes(column));
  // Without another column the key is set to itself, which changes nothing.
  const set = (others.length === 0 ? key : others).map(
    (name) => `${quote(name)} = values(${quote(name)})`,
  );
  const update = key.length === 0 ? "" : `on duplicate key update ${set.join(", ")}`;
  const places = rows.map(() => `(${columns.map(() => "?").join(", ")})`).join(", ");
  const values = rows.flatMap((row) => columns.map((column) => plain(row[column])));
  const target = table.map(quote).join(".");
  const statement = `insert into ${target} (${columns.map(quote).join(", ")}) values ${places} ${update}`;
  await run(driver, "start transaction");
  try {
    await run(driver, statement, values);
    await run(driver, "commit");
  } catch (thrown) {
    await run(driver, "rollback").catch(() => undefined);
    throw thrown;
  }
}

/** The driver would write an object as a list of assignments. */
function plain(value: JsonValue | undefined): string | number | boolean | null {
  if (value === undefined || value === null) return null;
  return typeof value === "object" ? JSON.stringify(value) : value;
}

function run(driver: Driver, sql: string, values: readonly unknown[] = []): Promise<unknown> {
  return new Promise((resolve, reject) => {
    driver.query(sql, [...values], (error: Error | null, rows: unknown) =>
      error === null ? resolve(rows) : reject(error),
    );
  });
}

interface Statement {
  readonly sql: string;
  readonly maxRows: number;
}

function readRows(
  driver: Driver,
  stream: CountedStream,
  { sql, maxRows }: Statement,
): Promise<QueryRows> {
  return new Promise((resolve, reject) => {
    let columns: readonly MysqlColumn[] = [];
    const rows: JsonValue[][] = [];
    let isCut = false;
    const end = () => resolve({ columns: columns.map(({ name }) => name), rows, isCut });
    const query = driver.query({ sql, rowsAsArray: true, typeCast: false });
    query.on("fields", (fields: unknown) => {
      if (Array.isArray(fields)) columns = fields as MysqlColumn[];
    });
    query.on("result", (row: unknown) => {
      if (!Array.isArray(row)) return;
      if (rows.length < maxRows) {
        rows.push(row.map((value, index) => decodeMysql(value, columns[index])));
      } else if (isCut) {
        // The statement has a limit of its own, which is larger. What follows is not read.
        end();
        stream.destroy();
      } else isCut = true;
    });
    query.on("error", reject);
    query.on("end", end);
  });
}
