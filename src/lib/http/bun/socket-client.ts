import type { HttpClient, HttpRequest, HttpResponse } from "../http-client.ts";
import { ChunkedUpload } from "./chunked-upload.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { HttpConnection } from "./http-connection.ts";
import { ConnectionClosed, HttpExchange, StaleConnection } from "./http-exchange.ts";

/** Characters that would end a header line or are not allowed in it. */
const NOT_IN_HEADERS = /[^\t\x20-\x7e]/;

/**
 * Builds the bytes of an HTTP/1.1 request: all of it, or the head if the body is streamed. Throws a `TypeError` for a
 * header that cannot be sent.
 */
function requestBytes(
  { method, headers, body }: Pick<HttpRequest, "method" | "headers" | "body">,
  url: URL,
): Uint8Array {
  let head = `${method} ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n`;
  if (headers["connection"] === undefined) head += "connection: keep-alive\r\n";
  for (const name in headers) {
    const value = headers[name] ?? "";
    if (NOT_IN_HEADERS.test(value)) throw new TypeError(`The header "${name}" cannot be sent.`);
    head += `${name}: ${value}\r\n`;
  }
  if (body === undefined) return Buffer.from(`${head}\r\n`);
  if (typeof body !== "string") return Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`);
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
  const poolFor = ({ host, hostname, port }: URL) => {
    let pool = pools.get(host);
    if (pool === undefined) {
      pool = new ConnectionPool(hostname, port === "" ? 80 : Number(port));
      pools.set(host, pool);
    }
    return pool;
  };
  const sendText = async (request: HttpRequest): Promise<HttpResponse> => {
    const url = new URL(request.url);
    const bytes = requestBytes(request, url);
    const pool = poolFor(url);
    const idle = pool.takeIdle();
    if (idle === undefined) {
      const connection = await connect(pool, request.signal, connectTimeoutMs);
      return new HttpExchange(pool, connection, request).begin(bytes);
    }
    try {
      return await new HttpExchange(pool, idle, request).begin(bytes);
    } catch (stale) {
      if (!(stale instanceof StaleConnection)) throw stale;
      const connection = await connect(pool, request.signal, connectTimeoutMs).catch(() => {
        // Report the stale connection and not the failed connect: the server may have taken the call and crashed on it.
        throw request.signal.aborted ? request.signal.reason : stale;
      });
      return new HttpExchange(pool, connection, request).begin(bytes);
    }
  };
  // An upload cannot be sent twice, so it gets a new connection, which cannot be stale.
  const sendUpload = async (request: HttpRequest, upload: ChunkedUpload): Promise<HttpResponse> => {
    try {
      const url = new URL(request.url);
      const bytes = requestBytes(request, url);
      const pool = poolFor(url);
      const connection = await connect(pool, request.signal, connectTimeoutMs);
      return await new HttpExchange(pool, connection, request).begin(bytes, upload);
    } catch (thrown) {
      upload.stop();
      throw thrown;
    }
  };
  return {
    async send(request) {
      if (isClosed) throw new ConnectionClosed();
      return typeof request.body === "object"
        ? sendUpload(request, new ChunkedUpload(request.body))
        : sendText(request);
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
  signal: AbortSignal,
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
