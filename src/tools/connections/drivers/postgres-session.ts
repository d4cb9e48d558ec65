import type { Socket } from "node:net";
import postgres from "postgres";
import { type ConnectPinned, secureSocket } from "../../../lib/egress/pinned-socket.ts";
import { failWith } from "../../../lib/fail-with.ts";
import type { SqlParameter } from "../../../lib/sql-gate/tokens/fill-placeholders.ts";
import { untilAborted } from "../../../lib/until-aborted.ts";
import type { QueryRows } from "../connection.ts";
import { CountedStream, endOf } from "./counted-stream.ts";
import { decodePostgres } from "./postgres-values.ts";
import { PostgresWatch } from "./postgres-watch.ts";
import {
  DriverFault,
  type OpenSession,
  type Session,
  type SessionWrite,
  type Target,
} from "./session.ts";

export interface ServerDriverOptions {
  readonly connect: ConnectPinned;
  /** Certificates of authorities in the place of the runtime's; for tests. */
  readonly authorities?: string | undefined;
}

const APPLICATION = "inference-gateway";
/** The bytes of a login, and of the answers to our own statements. */
const OWN_BYTES = 1024 * 1024;
const LOCK_TIMEOUT_MS = 5_000;
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
const CANCEL_REQUEST = Buffer.from([0, 0, 0, 16, 4, 210, 22, 46]);
const YES = "S".charCodeAt(0);

/**
 * Parameters are sent as the texts that they are. The driver would read a text for a truth value, a time or JSON as
 * something of its own: the types of booleans, dates, times, JSON and bytes.
 */
const AS_THEY_ARE = {
  to: 16,
  from: [16, 17, 114, 1082, 1114, 1184, 3802],
  serialize: String,
  parse: (text: string) => text,
};

type Sql = ReturnType<typeof postgres>;

/** Creates the driver of PostgreSQL. */
export function createOpenPostgres(options: ServerDriverOptions): OpenSession {
  return async (target, signal) => {
    const watch = new PostgresWatch();
    const socket = await connectTo(options, target, signal);
    const stream = new CountedStream(socket, (chunk) => watch.check(chunk));
    stream.allow(OWN_BYTES);
    const sql = openDriver(target, stream);
    const ended = endOf(stream);
    const session = sessionOf({ sql, stream, ended }, async (cancelSignal) => {
      const { key } = watch;
      if (key === undefined) return;
      const other = await connectTo(options, target, cancelSignal);
      // The server closes this connection when it has passed the request on.
      const closed = new Promise<void>((resolve) => other.once("close", () => resolve()));
      other.resume().end(Buffer.concat([CANCEL_REQUEST, key]));
      await untilAborted(closed, cancelSignal).finally(() => other.destroy());
    });
    try {
      await untilAborted(Promise.race([sql.unsafe("select 1"), ended]), signal);
      return session;
    } catch (thrown) {
      session.close();
      throw thrown;
    }
  };
}

/** One connection over the given stream. The driver would connect again by itself, and read the environment. */
function openDriver({ connection, password }: Target, stream: CountedStream): Sql {
  let isTaken = false;
  const { host, port, database, user } = connection;
  return postgres({
    host: host ?? "",
    port: port ?? 0,
    database: database ?? "",
    user: user ?? "",
    // Empty, it would be the gateway's own from the environment.
    password: () => password ?? "",
    socket: () => {
      if (isTaken) throw new Error("the connection has ended");
      isTaken = true;
      return stream;
    },
    connection: { application_name: APPLICATION },
    max: 1,
    ssl: false,
    prepare: false,
    fetch_types: false,
    types: { asTheyAre: AS_THEY_ARE },
    idle_timeout: 0,
    max_lifetime: null,
    connect_timeout: 0,
    keep_alive: null,
    target_session_attrs: undefined,
    debug: false,
    onnotice: () => undefined,
    // biome-ignore lint/suspicious/noExplicitAny: the types of the driver lack `socket` and functions of it
  } as any);
}

interface SessionParts {
  readonly sql: Sql;
  readonly stream: CountedStream;
  readonly ended: Promise<never>;
}

function sessionOf({ sql, stream, ended }: SessionParts, cancel: Session["cancel"]): Session {
  const untilEnd = failWith(ended);
  return {
    async read({ sql: statement, parameters = [], maxRows, maxBytes, timeoutMs }) {
      stream.allow(OWN_BYTES);
      await untilEnd(sql.unsafe(beginning(timeoutMs)));
      stream.allow(maxBytes);
      return untilEnd(readRows(sql, { statement, parameters, maxRows }));
    },
    async write(rows) {
      stream.allow(OWN_BYTES);
      await untilEnd(writeRows(sql, rows));
    },
    cancel,
    async reset() {
      stream.allow(OWN_BYTES);
      await untilEnd(sql.unsafe("rollback"));
      await untilEnd(sql.unsafe("discard all"));
    },
    isUsable: () => !stream.destroyed,
    close() {
      void sql.end({ timeout: 0 }).catch(() => undefined);
      stream.destroy();
    },
  };
}

/** All of it lasts until the end of the transaction, because poolers give the server's session to others then. */
function beginning(timeoutMs: number): string {
  return [
    "begin transaction read only",
    "set local default_transaction_read_only = on",
    `set local statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`,
    `set local lock_timeout = ${LOCK_TIMEOUT_MS}`,
    // What checks statements reads them by the standard.
    "set local standard_conforming_strings = on",
    "set local client_min_messages = error",
    "set local datestyle = 'ISO'",
    "set local intervalstyle = 'postgres'",
    "set local bytea_output = 'hex'",
    "set local extra_float_digits = 1",
  ].join("; ");
}

interface BoundStatement {
  readonly statement: string;
  readonly parameters: readonly SqlParameter[];
  readonly maxRows: number;
}

/** The extended protocol takes one statement only, and its portal sends no more rows than are asked for. */
async function readRows(
  sql: Sql,
  { statement, parameters, maxRows }: BoundStatement,
): Promise<QueryRows> {
  // As texts, whose types the server infers.
  const values = parameters.map((value) => (value === null ? null : String(value)));
  const query = sql.unsafe(statement, values, { prepare: false, simple: false } as object).raw();
  const bounded = query as unknown as {
    cursor(rows: number, take: () => unknown): Promise<postgres.RowList<Buffer[][]>>;
  };
  const result = await bounded.cursor(maxRows + 1, () => sql.CLOSE);
  const rows: readonly (readonly (Buffer | null)[])[] = result;
  const { columns = [] } = result;
  return {
    columns: columns.map(({ name }) => name),
    rows: rows
      .slice(0, maxRows)
      .map((row) => row.map((value, index) => decodePostgres(value, columns[index]?.type ?? 0))),
    isCut: rows.length > maxRows,
  };
}

/** The server itself converts the rows from JSON to the types of the table's columns. */
async function writeRows(sql: Sql, given: SessionWrite): Promise<void> {
  const { rows, timeoutMs } = given;
  const time = `set local statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`;
  await sql.unsafe(`begin; ${time}; set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
  try {
    await sql.unsafe(insertStatement(given), [JSON.stringify(rows)], { prepare: false });
    await sql.unsafe("commit");
  } catch (thrown) {
    await sql.unsafe("rollback").catch(() => undefined);
    throw thrown;
  }
}

function insertStatement({
  table,
  columns,
  key,
}: Omit<SessionWrite, "rows" | "timeoutMs">): string {
  const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
  const target = table.map(quote).join(".");
  const names = columns.map(quote).join(", ");
  const others = columns.filter((column) => !key.includes(column)).map(quote);
  const set = others.map((name) => `${name} = excluded.${name}`).join(", ");
  const action = others.length === 0 ? "nothing" : `update set ${set}`;
  const conflict =
    key.length === 0 ? "" : `on conflict (${key.map(quote).join(", ")}) do ${action}`;
  return `insert into ${target} (${names}) select ${names} from json_populate_recordset(null::${target}, $1::text::json) ${conflict}`;
}

async function connectTo(
  { connect, authorities }: ServerDriverOptions,
  { connection: { host, port, tls } }: Target,
  signal: AbortSignal,
): Promise<Socket> {
  const server = { host: host ?? "", port: port ?? 0 };
  const socket = await connect(server, signal);
  if (tls === "off") return socket;
  await askForTls(socket, signal);
  const isVerified = tls === "verify";
  return secureSocket(socket, { host: server.host, isVerified, authorities, signal });
}

/** The driver cannot check the certificate on both runtimes, so TLS begins before it sees the connection. */
async function askForTls(socket: Socket, signal: AbortSignal): Promise<void> {
  const answer = new Promise<Buffer>((resolve, reject) => {
    socket.once("data", resolve);
    socket.once("close", () => reject(new DriverFault("protocol", "The server hung up.")));
    socket.write(SSL_REQUEST);
  });
  try {
    const bytes = await untilAborted(answer, signal);
    // Whatever follows in plain text may come from somebody between.
    if (bytes.length === 1 && bytes[0] === YES) return;
    throw new DriverFault("no_tls", "The server offers no TLS; 'tls' would have to be 'off'.");
  } catch (thrown) {
    socket.destroy();
    throw thrown;
  }
}
