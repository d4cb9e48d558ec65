import type { CancelSignal } from "../../cancellation.ts";
import type { HttpClient, HttpRequest, HttpResponse } from "../http-client.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { HttpConnection } from "./http-connection.ts";
import { ConnectionClosed, HttpExchange, StaleConnection } from "./http-exchange.ts";

/** Characters that would end a header line or are not allowed in it. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e]/;

/** An address that is called again and again. */
interface Target {
  readonly pool: ConnectionPool;
  readonly host: string;
  /** The path with its query. */
  readonly path: string;
}

/** Engines have few addresses, but a webhook's URL may be any. */
const MOST_TARGETS = 64;

/** Builds the bytes of an HTTP/1.1 request. Throws a `TypeError` for a header that cannot be sent. */
function requestBytes(
  { method, headers, body }: Pick<HttpRequest, "method" | "headers" | "body">,
  { path, host }: Target,
): Uint8Array {
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  if (headers["connection"] === undefined) head += "connection: keep-alive\r\n";
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (NOT_IN_HEADERS.test(value)) throw new TypeError(`The header "${name}" cannot be sent.`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  if (typeof body !== "string") {
    return Buffer.concat([Buffer.from(`${head}content-length: ${body.length}\r\n\r\n`), body]);
  }
  return Buffer.from(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The HTTP client for plain HTTP on Bun, built on its sockets. `fetch` crosses a thread for each read and holds 64 KB
 * for each pending one. It reads megabytes ahead of a client that has stopped reading. It sometimes loses a response
 * that the server sends before it has the whole request.
 */
export function createSocketClient({ connectTimeoutMs = CONNECT_TIMEOUT_MS } = {}): HttpClient {
  const pools = new Map<string, ConnectionPool>();
  let isClosed = false;
  const targets = new Map<string, Target>();
  const poolFor = ({ host, hostname, port }: URL) => {
    let pool = pools.get(host);
    if (pool === undefined) {
      pool = new ConnectionPool(hostname, port === "" ? 80 : Number(port));
      pools.set(host, pool);
    }
    return pool;
  };
  const targetOf = (address: string): Target => {
    const known = targets.get(address);
    if (known !== undefined) return known;
    const url = new URL(address);
    const target = { pool: poolFor(url), host: url.host, path: url.pathname + url.search };
    if (targets.size >= MOST_TARGETS) targets.clear();
    targets.set(address, target);
    return target;
  };
  const sendOnNew = async (
    pool: ConnectionPool,
    request: HttpRequest,
    bytes: Uint8Array,
  ): Promise<HttpResponse> => {
    const connection = await connect(pool, request.signal, connectTimeoutMs);
    return new HttpExchange(pool, connection, request).begin(bytes);
  };
  const sendAgain = async (
    pool: ConnectionPool,
    request: HttpRequest,
    stale: StaleConnection,
  ): Promise<HttpResponse> => {
    const bytes = requestBytes(request, targetOf(request.url));
    const connection = await connect(pool, request.signal, connectTimeoutMs).catch(() => {
      // Report the stale connection and not the failed connect: the server may have taken the call and crashed on it.
      throw request.signal.aborted ? request.signal.reason : stale;
    });
    return new HttpExchange(pool, connection, request).begin(bytes);
  };
  return {
    async send(request) {
      if (isClosed) throw new ConnectionClosed();
      const target = targetOf(request.url);
      const { pool } = target;
      const bytes = requestBytes(request, target);
      const idle = pool.takeIdle();
      if (idle === undefined) return sendOnNew(pool, request, bytes);
      try {
        return await new HttpExchange(pool, idle, request).begin(bytes);
      } catch (thrown) {
        if (thrown instanceof StaleConnection) return sendAgain(pool, request, thrown);
        throw thrown;
      }
    },
    async close() {
      isClosed = true;
      for (const pool of pools.values()) pool.closeAll();
    },
  };
}

/** Opens a connection. If it opens after the call was aborted, the pool keeps it for the next call. */
async function connect(
  pool: ConnectionPool,
  signal: CancelSignal,
  timeoutMs: number,
): Promise<HttpConnection> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    let isWaiting = true;
    const end = () => {
      isWaiting = false;
      clearTimeout(timer);
      signal.removeEventListener("abort", leave);
    };
    const leave = () => {
      end();
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      end();
      reject(new ConnectTimeout());
    }, timeoutMs);
    signal.addEventListener("abort", leave, { once: true });
    pool.connect().then(
      (connection) => {
        if (isWaiting) resolve(connection);
        else pool.keep(connection);
        end();
      },
      (thrown: unknown) => {
        end();
        reject(thrown);
      },
    );
  });
}

/** The server did not accept the connection in time, so nothing was sent. */
class ConnectTimeout extends Error {
  override readonly name = "ConnectTimeout";
  readonly code = "CONNECT_TIMEOUT";
}
