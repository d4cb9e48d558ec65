/** The facts that the server reports of a request in addition to the request itself. */
export interface Connection {
  /** Every `Host` header, joined with a comma; null when there was no such header. */
  readonly host: string | null;
  /** The path as received, without the query. */
  readonly path: string;
  /** The header `Transfer-Encoding`, if the runtime accepts any value; Bun accepts only `chunked`. */
  readonly transferEncoding?: string | undefined;
  /** Returns the address of the other end; null when it is not known. */
  readonly peer: () => string | null;
  /**
   * Lifts the server's own limit on quiet connections, because a call to an engine may be silent for minutes. Returns a
   * function that restores the limit, to be called after the call.
   */
  readonly allowSilence: () => () => void;
}

export interface ServeOptions {
  readonly host: string;
  /** The value 0 takes a free port. */
  readonly port: number;
  /** A connection that sends and receives nothing for this long is closed, unless a call allows silence. */
  readonly quietSeconds: number;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  /** Called when file descriptors become scarce, so that new connections are refused, and when they no longer are. */
  readonly onScarce?: (isScarce: boolean) => void;
}

export interface Server {
  readonly port: number;
  /** Stops accepting connections and waits for the answers in progress. */
  readonly stop: () => Promise<void>;
  /** Closes every connection immediately. */
  readonly close: () => void;
  /** Refuses new connections, or accepts them again. Requests in progress continue; idle connections may be closed. */
  readonly admit: (newConnections: boolean) => void;
}
