import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import {
  type HttpChunk,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  PIECE_MAX_BYTES,
} from "./http-client.ts";
import { readBodyText } from "./read-body-text.ts";

/** Read and not asked for yet; with more than that the connection is read no further until somebody asks. */
const WAITING_MAX_BYTES = 65_536;
/** Idle connections that are kept for the next calls. */
const KEPT_CONNECTIONS = 64;

const DONE: HttpChunk = { done: true, value: undefined };

/**
 * Takes answers that are streams over plain HTTP, on Bun: its `fetch` holds 64 KB for each read that waits, and reads
 * megabytes ahead of a client that stands still. Bodies are texts.
 */
export function createStreamClient(): HttpClient {
  const agent = new Agent({ keepAlive: true, maxFreeSockets: KEPT_CONNECTIONS });
  return {
    async send(request) {
      try {
        return await sendOnce(agent, request);
      } catch (thrown) {
        if (!(thrown instanceof StaleConnection)) throw thrown;
        return sendOnce(new Agent(), request);
      }
    },
    close: async () => agent.destroy(),
  };
}

/** A kept connection ended without a word: the server had closed it, and the call has not begun. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
}

function sendOnce(
  agent: Agent,
  { url, method, headers, body, signal }: HttpRequest,
): Promise<HttpResponse> {
  if (body !== undefined && typeof body !== "string") {
    throw new TypeError("What is passed on while it arrives is sent by another client.");
  }
  return new Promise((resolve, reject) => {
    const length = body === undefined ? undefined : { "content-length": Buffer.byteLength(body) };
    const request = requestHttp(url, { agent, method, headers: { ...headers, ...length } });
    let received: ReceivedBody | undefined;
    const end = (thrown?: unknown) => {
      signal.removeEventListener("abort", leave);
      if (received !== undefined) received.end(thrown);
      else reject(thrown ?? new ConnectionClosed());
    };
    const leave = () => {
      end(signal.reason);
      request.destroy();
    };
    signal.addEventListener("abort", leave, { once: true });
    request.on("response", (message) => {
      received = new ReceivedBody(request, message, end);
      resolve(received.response());
    });
    request.on("error", (error) => {
      end(request.reusedSocket && received === undefined ? new StaleConnection() : error);
    });
    request.on("close", end);
    request.end(body);
  });
}

/** The server closed the connection before all was there. */
class ConnectionClosed extends Error {
  override readonly name = "ConnectionClosed";
  readonly code = "ECONNRESET";
}

/** A body as it comes: what waits to be read, and who waits for it. By the cheapest way to hear of a few bytes. */
class ReceivedBody {
  readonly #request: ClientRequest;
  readonly #message: IncomingMessage;
  readonly #onEnd: (thrown?: unknown) => void;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #failure: unknown;
  #reader: { resolve: (chunk: HttpChunk) => void; reject: (thrown: unknown) => void } | undefined;

  constructor(request: ClientRequest, message: IncomingMessage, onEnd: (thrown?: unknown) => void) {
    this.#request = request;
    this.#message = message;
    this.#onEnd = onEnd;
    message.on("data", (chunk: Buffer) => this.#take(chunk));
    message.on("end", () => {
      this.#isOver = true;
      onEnd();
    });
    // The request tells why; without a listener here it would end the process.
    message.on("error", onEnd);
    message.on("close", onEnd);
  }

  response(): HttpResponse {
    const { statusCode = 0, headers } = this.#message;
    const next = () => this.#next();
    return {
      status: statusCode,
      header(name) {
        const value = headers[name];
        return typeof value === "string" ? value : value?.[0];
      },
      next,
      text: (maxBytes) => readBodyText(next, maxBytes),
      cancel: () => {
        const isUnderWay = !this.#isOver;
        this.#waiting.length = 0;
        this.#onEnd();
        // Once all is there the connection is the next call's.
        if (isUnderWay) this.#request.destroy();
      },
    };
  }

  /** Told once or more often that nothing more comes, and why when that is too early. */
  end(thrown?: unknown): void {
    if (!this.#isOver) this.#failure ??= thrown ?? new ConnectionClosed();
    this.#isOver = true;
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) return;
    if (this.#failure === undefined) reader.resolve(DONE);
    else reader.reject(this.#failure);
  }

  #next(): Promise<HttpChunk> {
    const value = this.#takePiece();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#isOver) return Promise.resolve(DONE);
    // Not before somebody waits: the system's next read may be half a megabyte.
    if (this.#message.isPaused()) this.#message.resume();
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }

  #take(chunk: Uint8Array): void {
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    if (this.#waitingBytes > WAITING_MAX_BYTES) this.#message.pause();
    const reader = this.#reader;
    if (reader === undefined) return;
    this.#reader = undefined;
    reader.resolve({ done: false, value: this.#takePiece() });
  }

  /** What came together is given together: a burst of small frames is translated at one go. */
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
