import type { Socket } from "node:net";
import type { HttpRequest } from "./request-reader.ts";

/** Gives data that was sent before a reset the time to arrive. */
const RESET_GRACE_MS = 10;

export type Framing = "chunked" | "close" | { readonly lengthBytes: number };

/** Splits every piece of the body into slices, with a pause between them. */
export interface Segments {
  readonly bytes: number;
  readonly delayMs: number;
}

const reasonPhrases: Readonly<Record<number, string>> = {
  200: "OK",
  400: "Bad Request",
  401: "Unauthorized",
  404: "Not Found",
  405: "Method Not Allowed",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/** One request and its answer, down to the segment; the owner controls every byte. */
export class Exchange {
  readonly request: HttpRequest;
  /** True when the client left before the end of the answer. */
  gone = false;
  ended = false;
  status: number | undefined;
  segments: Segments | undefined;
  /** Called once, when the client leaves. */
  onGone: (() => void) | undefined;
  readonly #socket: Socket;
  #framing: Framing = "close";
  #wake: (() => void) | undefined;

  constructor(socket: Socket, request: HttpRequest) {
    this.#socket = socket;
    this.request = request;
  }

  /** Sends the whole answer in one write. */
  async send(status: number, body: string | Buffer, headers: Readonly<Record<string, string>>) {
    const bytes = Buffer.from(body as string);
    this.head(status, { lengthBytes: bytes.length }, headers);
    if (this.request.method !== "HEAD") await this.write(bytes);
    this.end();
  }

  head(status: number, framing: Framing, headers: Readonly<Record<string, string>>): void {
    if (this.gone) return;
    this.status = status;
    this.#framing = framing;
    const lines = [`HTTP/1.1 ${status} ${reasonPhrases[status] ?? "Status"}`];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (framing === "chunked") lines.push("transfer-encoding: chunked");
    else if (framing === "close") lines.push("connection: close");
    else lines.push(`content-length: ${framing.lengthBytes}`);
    this.#socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  }

  /** Writes a piece of the body and waits while the client does not read. */
  async write(piece: string | Buffer): Promise<void> {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    const { segments } = this;
    if (!segments) return this.#writeSlice(bytes);
    for (let at = 0; at < bytes.length && !this.gone; at += segments.bytes) {
      await this.#writeSlice(bytes.subarray(at, at + segments.bytes));
      await this.sleep(segments.delayMs);
    }
  }

  async #writeSlice(bytes: Buffer): Promise<void> {
    if (this.gone || bytes.length === 0) return;
    if (this.#socket.write(this.#framed(bytes))) return;
    await this.#wait((wake) => {
      this.#socket.once("drain", wake);
      return () => this.#socket.off("drain", wake);
    });
  }

  #framed(bytes: Buffer): Buffer {
    if (this.#framing !== "chunked") return bytes;
    const size = Buffer.from(`${bytes.length.toString(16)}\r\n`);
    return Buffer.concat([size, bytes, Buffer.from("\r\n")]);
  }

  /** Ends the answer properly. */
  end(): void {
    if (this.gone || this.ended) return;
    this.ended = true;
    if (this.#framing === "chunked") this.#socket.write("0\r\n\r\n");
    if (this.#framing === "close") this.#socket.end();
  }

  /** Sends FIN in the middle of the answer. */
  fin(): void {
    this.ended = true;
    this.#socket.end();
  }

  /** Sends RST after earlier data had time to arrive. */
  async reset(): Promise<void> {
    await this.sleep(RESET_GRACE_MS);
    if (this.gone) return;
    this.ended = true;
    this.#socket.resetAndDestroy();
  }

  /** Resolves after the time, or at once when the client leaves. */
  async sleep(ms: number): Promise<void> {
    if (ms <= 0 || this.gone) return;
    await this.#wait((wake) => {
      const timer = setTimeout(wake, Math.min(ms, 2 ** 31 - 1));
      return () => clearTimeout(timer);
    });
  }

  /** Handles a closed connection; notifies the owner if the answer was not complete. */
  leave(): void {
    if (this.gone || this.ended) return;
    this.gone = true;
    this.onGone?.();
    this.#wake?.();
  }

  #wait(arm: (wake: () => void) => () => void): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        this.#wake = undefined;
        disarm();
        resolve();
      };
      const disarm = arm(wake);
      this.#wake = wake;
    });
  }
}
