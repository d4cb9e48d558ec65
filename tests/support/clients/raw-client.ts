import { connect, type Socket } from "node:net";
import { ChunkedDecoder } from "../../../simulator/http/chunked-decoder.ts";

/** What an answer may take on a machine that does much else. */
const TIMEOUT_MS = 60_000;

export interface RawResponse {
  readonly status: number;
  /** As received: order, case and repetition kept. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly header: (name: string) => string | undefined;
  /** Decoded from chunks. */
  readonly body: Buffer;
  readonly text: string;
  readonly json: () => unknown;
  /** False when the connection ended before the answer did. */
  readonly isComplete: boolean;
}

export interface RawClient {
  readonly send: (bytes: string | Uint8Array) => void;
  /** Resolves when the kernel has taken the bytes; rejects when the connection ends before. */
  readonly sendWhole: (bytes: string | Uint8Array) => Promise<void>;
  /** Stops reading: what arrives stays in the kernel. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** FIN: nothing more is sent, what comes is still read. */
  readonly halfClose: () => void;
  /** RST. */
  readonly reset: () => void;
  readonly close: () => void;
  /** Everything received so far. */
  readonly received: () => Buffer;
  /** The next answer on this connection, whole or as far as it came before the connection ended. */
  readonly readResponse: (options?: {
    readonly method?: string;
    readonly timeoutMs?: number;
  }) => Promise<RawResponse>;
  /** Resolves as soon as what was received, as Latin-1 text, fulfils the condition. */
  readonly readUntil: (
    condition: (received: string) => boolean,
    timeoutMs?: number,
  ) => Promise<string>;
  /** How the connection ended: by the other side's FIN or by an error such as ECONNRESET. */
  readonly closed: Promise<{ readonly at: number; readonly error: string | undefined }>;
}

/** Opens a connection to loopback on which every byte is the test's own. */
export async function openRawClient(port: number): Promise<RawClient> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  const wire = new Wire(socket);
  return {
    send: (bytes) => void socket.write(bytes),
    sendWhole: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (failure) => (failure ? reject(failure) : resolve()));
      }),
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    halfClose: () => void socket.end(),
    reset: () => void socket.resetAndDestroy(),
    close: () => void socket.destroy(),
    received: () => wire.all(),
    readResponse: ({ method = "GET", timeoutMs = TIMEOUT_MS } = {}) =>
      wire.until((rest, isOver) => {
        const parsed = parseResponse(rest, { method, isOver });
        if (parsed) wire.consume(parsed.consumedBytes);
        return parsed?.response;
      }, timeoutMs),
    readUntil: (condition, timeoutMs = TIMEOUT_MS) =>
      wire.until(() => {
        const text = wire.all().toString("latin1");
        return condition(text) ? text : undefined;
      }, timeoutMs),
    closed: wire.closed,
  };
}

/** The bytes of a request; `content-length` is added for a body unless the headers say otherwise. */
export function rawRequest(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = "",
): string {
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  if (!names.includes("host")) lines.unshift("host: 127.0.0.1\r\n");
  const isFramed = names.includes("content-length") || names.includes("transfer-encoding");
  if (body !== "" && !isFramed) lines.push(`content-length: ${Buffer.byteLength(body)}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}

/** What came over one socket, and who waits for more of it. */
class Wire {
  readonly closed: Promise<{ at: number; error: string | undefined }>;
  #bytes = Buffer.alloc(64 * 1024);
  #size = 0;
  #consumedBytes = 0;
  #isOver = false;
  #waiting = new Set<() => void>();

  constructor(socket: Socket) {
    let error: string | undefined;
    socket.on("error", (reason: NodeJS.ErrnoException) => {
      error = reason.code ?? reason.message;
    });
    this.closed = new Promise((resolve) => {
      const end = () => {
        this.#isOver = true;
        resolve({ at: Date.now(), error });
        this.#wake();
      };
      socket.on("end", end);
      socket.on("close", end);
    });
    socket.on("data", (bytes: Buffer) => {
      this.#append(bytes);
      this.#wake();
    });
  }

  all(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }

  #append(bytes: Buffer): void {
    const size = this.#size + bytes.length;
    if (size > this.#bytes.length) {
      const larger = Buffer.alloc(size * 2);
      this.#bytes.copy(larger, 0, 0, this.#size);
      this.#bytes = larger;
    }
    bytes.copy(this.#bytes, this.#size);
    this.#size = size;
  }

  consume(bytes: number): void {
    this.#consumedBytes += bytes;
  }

  async until<T>(
    read: (rest: Buffer, isOver: boolean) => T | undefined,
    timeoutMs: number,
  ): Promise<T> {
    const until = Date.now() + timeoutMs;
    while (true) {
      const isOver = this.#isOver;
      const value = read(this.all().subarray(this.#consumedBytes), isOver);
      if (value !== undefined) return value;
      if (isOver) throw new Error(`the connection ended after: ${this.#tail()}`);
      const left = until - Date.now();
      if (left <= 0) throw new Error(`nothing fitting in ${timeoutMs} ms, only: ${this.#tail()}`);
      await this.#next(left);
    }
  }

  #tail(): string {
    return JSON.stringify(this.all().subarray(-500).toString("latin1"));
  }

  #next(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, timeoutMs);
      this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}

interface Parsed {
  readonly response: RawResponse;
  readonly consumedBytes: number;
}

function parseResponse(
  bytes: Buffer,
  { method, isOver }: { readonly method: string; readonly isOver: boolean },
): Parsed | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  const [statusLine = "", ...lines] = bytes.toString("latin1", 0, headEnd).split("\r\n");
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1]);
  if (!status) throw new Error(`not an answer: ${statusLine}`);
  const bodyBytes = bytes.subarray(headEnd + 4);
  if (status < 200) {
    const rest = parseResponse(bodyBytes, { method, isOver });
    return rest && { ...rest, consumedBytes: rest.consumedBytes + headEnd + 4 };
  }
  const headers = lines.map((line) => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const header = (name: string) => headers.find(([key]) => key.toLowerCase() === name)?.[1];
  const isEmpty = method === "HEAD" || status === 204 || status === 304;
  const read = isEmpty
    ? { body: Buffer.alloc(0), isComplete: true, bytes: 0 }
    : readBody(bodyBytes, header, isOver);
  if (!read.isComplete && !isOver) return undefined;
  const { body, isComplete } = read;
  const response = {
    status,
    headers,
    header,
    body,
    text: body.toString("utf8"),
    json: (): unknown => JSON.parse(body.toString("utf8")),
    isComplete,
  };
  return { response, consumedBytes: headEnd + 4 + read.bytes };
}

function readBody(
  bytes: Buffer,
  header: (name: string) => string | undefined,
  isOver: boolean,
): { body: Buffer; isComplete: boolean; bytes: number } {
  if (/chunked/i.test(header("transfer-encoding") ?? "")) {
    const decoder = new ChunkedDecoder();
    const rest = decoder.push(bytes);
    return { body: decoder.body(), isComplete: decoder.done, bytes: bytes.length - rest.length };
  }
  const length = header("content-length");
  if (length === undefined) return { body: bytes, isComplete: isOver, bytes: bytes.length };
  const body = bytes.subarray(0, Number(length));
  return { body, isComplete: body.length === Number(length), bytes: body.length };
}
