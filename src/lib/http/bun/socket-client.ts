import type { HttpClient, HttpRequest, HttpResponse } from "../http-client.ts";
import { ConnectionPool } from "./connection-pool.ts";
import type { HttpConnection } from "./http-connection.ts";
import { ConnectionClosed, HttpExchange, StaleConnection } from "./http-exchange.ts";
import { requestBytes } from "./request-bytes.ts";

const CONNECT_TIMEOUT_MS = 10_000;

/**
 * The HTTP client of Bun for plain HTTP, over its sockets: `fetch` takes a turn through another thread for each read,
 * holds 64 KB for each read that waits, reads megabytes ahead of a client that stands still, and loses at times what a
 * server answers before it has the whole request.
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
  const sendOn = async (request: HttpRequest): Promise<HttpResponse> => {
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
        // Not that nobody listens: the server that had taken the call may have died of it.
        throw request.signal.aborted ? request.signal.reason : stale;
      });
      return new HttpExchange(pool, connection, request).begin(bytes);
    }
  };
  return {
    async send(request) {
      if (isClosed) throw new ConnectionClosed();
      return sendOn(request);
    },
    async close() {
      isClosed = true;
      for (const pool of pools.values()) pool.closeAll();
    },
  };
}

/** A connection that comes after the call was given up is the next call's. */
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

/** Nobody took the connection in time, so nothing was done. */
class ConnectTimeout extends Error {
  override readonly name = "ConnectTimeout";
  readonly code = "CONNECT_TIMEOUT";
}
