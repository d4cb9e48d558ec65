/** What the server tells of a request beside the request itself. */
export interface Connection {
  /** Every `Host` header, joined with a comma; null when there was none. */
  readonly host: string | null;
  /** The path as it came, without the query. */
  readonly path: string;
  /** The header `Transfer-Encoding` where the runtime takes any; Bun takes none but `chunked`. */
  readonly transferEncoding?: string | undefined;
  /** The address of the other end; null when it is not known. */
  readonly peer: () => string | null;
  /**
   * Lifts the server's own limit on quiet connections, for a call to an engine may be silent for minutes.
   * What it returns brings the limit back and is called when the call is over.
   */
  readonly allowSilence: () => () => void;
}

export interface ServeOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** A connection that sends and receives nothing for this long is closed, unless a call allows silence. */
  readonly quietSeconds: number;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
  /** Told when file descriptors run short, so that new connections are turned away, and when no longer. */
  readonly onScarce?: (isScarce: boolean) => void;
}

/** A listening server. */
export interface Server {
  readonly port: number;
  /** Takes no new connection and waits for the answers under way. */
  readonly stop: () => Promise<void>;
  /** Closes every connection now. */
  readonly close: () => void;
  /** Turns new connections away, or takes them again. Requests under way go on; idle connections may be closed. */
  readonly admit: (newConnections: boolean) => void;
}
