import { connectOnBun } from "./bun-socket.ts";
import { HttpConnection } from "./http-connection.ts";

/** The number of idle connections per server that are kept for later calls. */
const KEPT_CONNECTIONS = 64;

/**
 * How long an idle connection is kept if the server sends no timeout. Shorter than the default of every known server.
 */
const KEPT_MS = 4_000;

/** Open connections to one server. */
export class ConnectionPool {
  readonly #hostname: string;
  readonly #port: number;
  /** In the order in which they became idle, the most recent at the end. */
  #idle: HttpConnection[] = [];
  readonly #all = new Set<HttpConnection>();
  #isClosed = false;

  constructor(hostname: string, port: number) {
    this.#hostname = hostname;
    this.#port = port;
  }

  /** Returns the connection that became idle most recently, which the server has most likely not closed yet. */
  takeIdle(): HttpConnection | undefined {
    const now = performance.now();
    const firstGood = this.#idle.findIndex(({ idleUntil }) => now < idleUntil);
    for (const old of this.#idle.splice(0, firstGood < 0 ? this.#idle.length : firstGood)) {
      this.close(old);
    }
    for (;;) {
      const last = this.#idle.pop();
      if (last === undefined || now < last.idleUntil) return last;
      // A server may announce a different timeout on each connection.
      this.close(last);
    }
  }

  /** Rejects with the system's error. */
  async connect(): Promise<HttpConnection> {
    const socket = await connectOnBun(this.#hostname, this.#port);
    const connection = new HttpConnection(socket, this.#drop);
    this.#all.add(connection);
    if (this.#isClosed) this.close(connection);
    return connection;
  }

  keep(connection: HttpConnection, idleMs = KEPT_MS): void {
    if (this.#isClosed || this.#idle.length >= KEPT_CONNECTIONS) {
      this.close(connection);
      return;
    }
    connection.rest(performance.now() + idleMs);
    this.#idle.push(connection);
  }

  close(connection: HttpConnection): void {
    this.#all.delete(connection);
    connection.close();
  }

  /** Closes all connections, including busy ones. */
  closeAll(): void {
    this.#isClosed = true;
    this.#idle = [];
    for (const connection of [...this.#all]) this.close(connection);
  }

  readonly #drop = (connection: HttpConnection) => {
    this.#all.delete(connection);
    const place = this.#idle.indexOf(connection);
    if (place >= 0) this.#idle.splice(place, 1);
  };
}
