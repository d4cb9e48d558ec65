import type { CancelSignal } from "../../cancellation.ts";
import { nextOf, type ReceivingSource, type Taker } from "../../receive.ts";
import {
  type HttpChunk,
  type HttpRequest,
  type HttpResponse,
  PIECE_MAX_BYTES,
} from "../http-client.ts";
import { readBodyText } from "../read-body-text.ts";
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

const utf8 = new TextDecoder();
const DONE: HttpChunk = { done: true, value: undefined };
const ONCE = { once: true } as const;

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

/** One call on a connection, and its response: buffered pieces of the body and the pending read. */
export class HttpExchange implements AnswerReceiver, HttpResponse, ReceivingSource<HttpChunk> {
  readonly #pool: ConnectionPool;
  readonly #connection: HttpConnection;
  readonly #signal: CancelSignal;
  /** The caller set a `connection` header, so the connection is not reused. */
  readonly #isLast: boolean;
  readonly #answer = new HttpResponseReader();
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #failure: { readonly reason: unknown } | undefined;
  #isSilent = true;
  #beganAt = 0;
  #hasAnswer = false;
  #caller: PromiseHandle<HttpResponse> | undefined;
  #reader: Taker<HttpChunk> | undefined;

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

  /** Rejects with `StaleConnection` when the server had closed the connection already. */
  begin(request: Uint8Array): Promise<HttpResponse> {
    this.#signal.addEventListener("abort", this, ONCE);
    return new Promise((resolve, reject) => {
      this.#caller = { resolve, reject };
      if (this.#signal.aborted) {
        this.handleEvent();
        return;
      }
      this.#beganAt = performance.now();
      this.#connection.start(request, this);
    });
  }

  received(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#isSilent = false;
    let body: Uint8Array | undefined;
    try {
      body = this.#answer.read(bytes);
    } catch (thrown) {
      this.#fail(thrown);
      return;
    }
    if (this.#answer.isComplete) this.#end();
    if (body !== undefined) {
      this.#waiting.push(body);
      this.#waitingBytes += body.length;
    }
    this.#answerCaller();
    if (body !== undefined || this.#isOver) this.#answerReader();
    if (!this.#isOver && this.#waitingBytes > WAITING_MAX_BYTES) this.#connection.pause();
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
    this.#answerReader();
  }

  /** The call was aborted. */
  handleEvent(): void {
    this.#forget();
    this.#fail(this.#signal.reason);
  }

  /** The response is complete. The connection is reused unless part of the request is still unsent. */
  #end(): void {
    this.#finish();
    if (this.#connection.isSent && !this.#isLast && this.#answer.leavesConnectionOpen) {
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
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.fail(thrown);
  }

  #finish(): void {
    this.#isOver = true;
    this.#signal.removeEventListener("abort", this);
  }

  #answerCaller(): void {
    if (this.#hasAnswer || this.#answer.head === undefined) return;
    this.#hasAnswer = true;
    this.#caller?.resolve(this);
  }

  get status(): number {
    return this.#answer.head?.status ?? 0;
  }

  header(name: string): string | undefined {
    return this.#answer.head?.headers.get(name);
  }

  next(): Promise<HttpChunk> {
    return nextOf(this);
  }

  text(maxBytes: number): Promise<string> {
    const [only] = this.#waiting;
    const isWhole = this.#isOver && this.#failure === undefined && this.#waiting.length === 1;
    // A short answer arrives in one piece.
    if (isWhole && only !== undefined && only.length <= maxBytes) {
      this.#forget();
      return Promise.resolve(utf8.decode(only));
    }
    return readBodyText(() => this.next(), maxBytes);
  }

  cancel(): void {
    this.#forget();
    this.#fail(new ConnectionClosed());
  }

  receive(reader: Taker<HttpChunk>): void {
    const value = this.#takePiece();
    if (value !== undefined) reader.take({ done: false, value });
    else if (this.#failure !== undefined) reader.fail(this.#failure.reason);
    else if (this.#isOver) reader.take(DONE);
    else {
      this.#reader = reader;
      // Resume only when a reader waits: the next read may bring half a megabyte.
      this.#connection.resume();
    }
  }

  #forget(): void {
    this.#waiting.length = 0;
    this.#waitingBytes = 0;
  }

  #answerReader(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader !== undefined) this.receive(reader);
  }

  /** Returns bytes that arrived together as one piece, so that a burst of small frames is translated in one batch. */
  #takePiece(): Uint8Array | undefined {
    const first = this.#waiting[0];
    if (first === undefined) return undefined;
    const all = this.#waiting.length === 1 ? first : Buffer.concat(this.#waiting);
    this.#waiting.length = 0;
    // Nearly all pieces are one token, and a subarray costs as much as the rest of this read.
    if (all.length <= PIECE_MAX_BYTES) {
      this.#waitingBytes = 0;
      return all;
    }
    this.#waiting.push(all.subarray(PIECE_MAX_BYTES));
    this.#waitingBytes = all.length - PIECE_MAX_BYTES;
    return all.subarray(0, PIECE_MAX_BYTES);
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
