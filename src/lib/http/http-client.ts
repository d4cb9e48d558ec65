import type { CancelSignal } from "../cancellation.ts";
import type { Source } from "../receive.ts";

/**
 * The largest piece of a body that a client on Bun returns. One read can bring up to a megabyte there. Translated in
 * one batch, it would take several megabytes for each slow client.
 */
export const PIECE_MAX_BYTES = 65_536;

export interface HttpRequest {
  readonly url: string;
  readonly method: "GET" | "POST";
  /** Sent in addition to the headers that the protocol itself needs. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  /** Closes the connection at once: while it is made, while headers are awaited, in the middle of the body. */
  readonly signal: CancelSignal;
  readonly route?: Route | undefined;
}

/** For a client that has several servers at one address: selects the server for the call. */
export interface Route {
  /** Calls with the same key go to the same server, which has the beginning of their prompts cached. */
  readonly key: number;
  /** The model that the server must have. */
  readonly model: string;
}

/** A response whose body is still unread. Read it with either `next`, `receive` or `text`. */
export interface HttpResponse extends Source<HttpChunk> {
  readonly status: number;
  /** Returns the first value of a header; `name` is in lower case. */
  readonly header: (name: string) => string | undefined;
  /** Returns the result of the next network read. */
  readonly next: () => Promise<HttpChunk>;
  /** Returns the whole body as text. Rejects with `BodyTooLarge` beyond `maxBytes`. */
  readonly text: (maxBytes: number) => Promise<string>;
  /** Discards the body and closes its connection. */
  readonly cancel: () => void;
}

export interface HttpChunk {
  readonly done?: boolean | undefined;
  readonly value?: Uint8Array | undefined;
}

/**
 * A common HTTP interface for both runtimes. It applies no timeouts and follows no redirects; the caller does both.
 * `send` and reading the body reject with the runtime's own error, whose `code` identifies the cause.
 */
export interface HttpClient {
  readonly send: (request: HttpRequest) => Promise<HttpResponse>;
  /** Closes all connections that the runtime gives control of. */
  readonly close: () => Promise<void>;
}
