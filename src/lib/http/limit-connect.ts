import { connect } from "node:tls";

export interface ConnectLimits {
  /** How long a call may be without an answer before it is found out whether its server can be reached. */
  readonly patienceMs: number;
  /** How long connecting and the handshake may take then. */
  readonly probeMs: number;
}

const CONNECT_LIMITS: ConnectLimits = { patienceMs: 3_000, probeMs: 7_000 };

/** A server that has answered this recently is reachable. */
const RECENT_MS = 60_000;
const MOST_ORIGINS = 1_000;

/** Ends calls to servers that cannot be connected to, for a client that has no time limit of its own for it. */
export class ConnectLimit {
  readonly #limits: ConnectLimits;
  /** By origin, in milliseconds of the monotonic clock. */
  readonly #answeredAt = new Map<string, number>();

  constructor(limits: ConnectLimits = CONNECT_LIMITS) {
    this.#limits = limits;
  }

  /** Returns whether calls to the origin need no watch. */
  isReached(origin: string): boolean {
    const answeredAt = this.#answeredAt.get(origin);
    return answeredAt !== undefined && performance.now() - answeredAt < RECENT_MS;
  }

  answered(origin: string): void {
    if (this.#answeredAt.size >= MOST_ORIGINS) this.#answeredAt.clear();
    this.#answeredAt.set(origin, performance.now());
  }

  /**
   * Calls `abort` with an error of the code `CONNECT_TIMEOUT` when the origin takes no TLS connection in time. Returns
   * the end of the watch, for when the answer is there.
   */
  watch(origin: string, abort: (error: Error) => void): () => void {
    let end: (() => void) | undefined;
    const timer = setTimeout(() => {
      end = this.#probe(new URL(origin), abort);
    }, this.#limits.patienceMs);
    timer.unref();
    return () => {
      clearTimeout(timer);
      end?.();
    };
  }

  #probe({ hostname, port }: URL, abort: (error: Error) => void): () => void {
    const host = hostname.replace(/^\[|\]$/g, "");
    // Only whether it answers counts here; the call itself checks who it is.
    const socket = connect({ host, port: Number(port || 443), rejectUnauthorized: false });
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
    };
    const timer = setTimeout(() => {
      end();
      abort(Object.assign(new Error("No connection in time."), { code: "CONNECT_TIMEOUT" }));
    }, this.#limits.probeMs);
    timer.unref();
    // Other failures end the call itself.
    socket.once("error", end).once("secureConnect", end);
    return end;
  }
}
