import {
  type HttpChunk,
  type HttpRequest,
  type HttpResponse,
  PIECE_MAX_BYTES,
} from "../http-client.ts";
import { readBodyText } from "../read-body-text.ts";
import type { ChunkedUpload } from "./chunked-upload.ts";
import type { ConnectionPool } from "./connection-pool.ts";
import type { AnswerReceiver, HttpConnection } from "./http-connection.ts";
import { HttpResponseReader } from "./http-response-reader.ts";

/** The most bytes buffered for the reader. Above this the socket is paused until the reader asks for more. */
const WAITING_MAX_BYTES = 65_536;
/** The longest time a connection is kept, whatever timeout the server sends in `keep-alive`. */
const KEPT_MAX_MS = 600_000;
/** Safety margin before the server's keep-alive timeout, so that no call is sent on a closing connection. */
const KEPT_MARGIN_MS = 1_000;
/**
 * A stale connection is closed within one round trip of the request. If it is closed later without a response, the
 * server may have processed the call.
 */
const STALE_WITHIN_MS = 100;

const DONE: HttpChunk = { done: true, value: undefined };

/** The server closed the connection before the response was complete. */
export class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
  readonly code = "ECONNRESET";
}

/**
 * A reused connection was closed immediately, without a response: the server had closed it already and has not seen the
 * call. (A server that took the call and crashed in the same moment looks the same.)
 */
export class StaleConnection extends ConnectionClosed {}

/** One call on a connection, and the body of its response: buffered pieces and the pending read. */
export class HttpExchange implements AnswerReceiver {
  readonly #pool: ConnectionPool;
  readonly #connection: HttpConnection;
  readonly #signal: AbortSignal;
  /** The caller set a `connection` header, so the connection is not reused. */
  readonly #isLast: boolean;
  readonly #answer = new HttpResponseReader();
  /** The upload in progress, if any. */
  #upload: ChunkedUpload | undefined;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #failure: { readonly reason: unknown } | undefined;
  #isSilent = true;
  #beganAt = 0;
  #hasAnswer = false;
  #caller: PromiseHandle<HttpResponse> | undefined;
  #reader: PromiseHandle<HttpChunk> | undefined;

  constructor(
    pool: ConnectionPool,
    connection: HttpConnection,
    { signal, headers }: Pick<HttpRequest, "signal" | "headers">,
  ) {
    this.#pool = pool;
    this.#connection = connection;
    this.#signal = signal;
    this.#isLast = headers["connection"] !== undefined;
  }

  /** Sends the request. Rejects with `StaleConnection` when the server had already closed the connection. */
  begin(request: Uint8Array, upload?: ChunkedUpload): Promise<HttpResponse> {
    this.#signal.addEventListener("abort", this.#leave, { once: true });
    return new Promise((resolve, reject) => {
      this.#caller = { resolve, reject };
      if (this.#signal.aborted) {
        this.#leave();
        return;
      }
      this.#beganAt = performance.now();
      this.#connection.start(request, this);
      if (upload !== undefined) void this.#send(upload);
    });
  }

  async #send(upload: ChunkedUpload): Promise<void> {
    this.#upload = upload;
    try {
      await upload.send((bytes) => this.#connection.write(bytes));
      this.#upload = undefined;
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  received(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#isSilent = false;
    try {
      const body = this.#answer.read(bytes);
      if (this.#answer.isComplete) this.#end();
      if (body !== undefined) this.#take(body);
      else if (this.#isOver) this.#reader?.resolve(DONE);
      this.#answerCaller();
    } catch (thrown) {
      this.#fail(thrown);
    }
  }

  closed(isInOrder: boolean): void {
    if (this.#isOver) return;
    if (isInOrder) this.#answer.end();
    if (!this.#answer.isComplete) {
      const isStale = this.#isSilent && performance.now() - this.#beganAt < STALE_WITHIN_MS;
      this.#fail(isStale ? new StaleConnection() : new ConnectionClosed());
      return;
    }
    this.#end();
    this.#reader?.resolve(DONE);
  }

  readonly #leave = () => {
    this.#forget();
    this.#fail(this.#signal.reason);
  };

  /** The response is complete. The connection is reused unless part of the request is still unsent. */
  #end(): void {
    this.#finish();
    const isSent = this.#upload === undefined && this.#connection.isSent;
    if (isSent && !this.#isLast && this.#answer.leavesConnectionOpen) {
      this.#pool.keep(this.#connection, keptMs(this.#answer.head?.headers.get("keep-alive")));
    } else {
      this.#pool.close(this.#connection);
    }
  }

  #fail(thrown: unknown): void {
    if (this.#isOver) return;
    this.#finish();
    this.#failure = { reason: thrown };
    this.#pool.close(this.#connection);
    if (!this.#hasAnswer) this.#caller?.reject(thrown);
    this.#reader?.reject(thrown);
    this.#reader = undefined;
  }

  #finish(): void {
    this.#isOver = true;
    this.#signal.removeEventListener("abort", this.#leave);
    this.#upload?.stop();
  }

  #answerCaller(): void {
    const { head } = this.#answer;
    if (this.#hasAnswer || head === undefined) return;
    this.#hasAnswer = true;
    const next = () => this.#next();
    this.#caller?.resolve({
      status: head.status,
      header: (name) => head.headers.get(name),
      next,
      text: (maxBytes) => readBodyText(next, maxBytes),
      cancel: () => this.#cancel(),
    });
  }

  #cancel(): void {
    this.#forget();
    this.#fail(new ConnectionClosed());
  }

  #forget(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #next(): Promise<HttpChunk> {
    const value = this.#takePiece();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#failure !== undefined) return Promise.reject(this.#failure.reason);
    if (this.#isOver) return Promise.resolve(DONE);
    // Resume only when a reader waits: the next read may bring half a megabyte.
    this.#connection.resume();
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  #take(body: Uint8Array): void {
    this.#waiting.push(body);
    this.#waitingBytes += body.length;
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ done: false, value: this.#takePiece() });
    }
    if (!this.#isOver && this.#waitingBytes > WAITING_MAX_BYTES) this.#connection.pause();
  }

  /** Returns bytes that arrived together as one piece, so that a burst of small frames is translated in one batch. */
  #takePiece(): Uint8Array | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const all = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#waiting.length = 0;
    const piece = all.subarray(0, PIECE_MAX_BYTES);
    if (piece.length < all.length) this.#waiting.push(all.subarray(PIECE_MAX_BYTES));
    this.#waitingBytes -= piece.length;
    return piece;
  }
}

interface PromiseHandle<Value> {
  readonly resolve: (value: Value) => void;
  readonly reject: (thrown: unknown) => void;
}

/** Reads how long to keep a connection from a `keep-alive` header such as `timeout=5, max=100`. */
function keptMs(header: string | undefined): number | undefined {
  const seconds = header === undefined ? undefined : /timeout=(\d{1,6})/.exec(header)?.[1];
  if (seconds === undefined) return undefined;
  return Math.min(Number(seconds) * 1_000 - KEPT_MARGIN_MS, KEPT_MAX_MS);
}
