/** What the server tells of a request beside the request itself. */
export interface Connection {
  /** Every `Host` header, joined with a comma; null when there was none. */
  readonly host: string | null;
  /** The path as it came, without the query. */
  readonly path: string;
  /** Lifts the server's own limit on quiet connections; a call to an engine may be silent for minutes. */
  readonly allowSilence: () => void;
}

export interface ServeOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly fetch: (request: Request, connection: Connection) => Response | Promise<Response>;
}

/** A listening server. */
export interface Server {
  readonly port: number;
  /** Takes no new connection and waits for the answers under way. */
  readonly stop: () => Promise<void>;
  /** Closes every connection now. */
  readonly close: () => void;
}

/** A connection that sends and receives nothing for this long is closed, unless a call allows silence. */
export const QUIET_CONNECTION_SECONDS = 30;
