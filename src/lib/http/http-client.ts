/**
 * Longest piece of a body that a client on Bun gives. One read brings up to a megabyte there: translated at one go, that
 * would be several in memory for each client that reads slowly.
 */
export const PIECE_MAX_BYTES = 65_536;

export interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  /** All that is sent beside what the protocol itself needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Closes the connection at once: while it is made, while headers are awaited, in the middle of the body. */
  readonly signal: AbortSignal;
  readonly route?: Route | undefined;
}

/** For a client with several servers behind one address: which of them should take the call. */
export interface Route {
  /** Calls of one key belong to one server, which has the beginning of their prompts in its cache. */
  readonly key: number;
  /** The model it needs. */
  readonly model: string;
}

/** An answer whose body is still to be read, by `next` or by `text`, not both. */
export interface HttpResponse {
  readonly status: number;
  /** The first value of a header; `name` in small letters. */
  readonly header: (name: string) => string | undefined;
  /** What the next network read brings. */
  readonly next: () => Promise<HttpChunk>;
  /** The whole body as text. Rejects with `BodyTooLarge` beyond `maxBytes`. */
  readonly text: (maxBytes: number) => Promise<string>;
  /** Gives up the body and closes its connection. */
  readonly cancel: () => void;
}

export interface HttpChunk {
  readonly done?: boolean | undefined;
  readonly value?: Uint8Array | undefined;
}

/**
 * One way to call another server, on either runtime. No time-outs and no redirects: both are the caller's affair.
 * `send` and the body's reading reject with the runtime's own error, whose `code` tells what happened.
 */
export interface HttpClient {
  readonly send: (request: HttpRequest) => Promise<HttpResponse>;
  /** Closes all connections, as far as the runtime lets us hold them. */
  readonly close: () => Promise<void>;
}
