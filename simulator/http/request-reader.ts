import { ChunkedDecoder } from "./chunked-decoder.ts";

const HEAD_LIMIT_BYTES = 64 * 1024;
const BODY_LIMIT_BYTES = 128 * 1024 * 1024;

export interface HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The headers as received, with order, case and repetition preserved. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

interface Head extends Omit<HttpRequest, "body"> {
  readonly chunked: boolean;
  readonly lengthBytes: number;
  readonly expectsContinue: boolean;
}

/** Returns the first value of a header, regardless of its case. */
export function headerOf(request: Pick<HttpRequest, "headers">, name: string): string | undefined {
  return request.headers.find(([key]) => key.toLowerCase() === name)?.[1];
}

/** Splits the bytes of one connection into requests. */
export class RequestReader {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #head: Head | undefined;
  #decoder: ChunkedDecoder | undefined;

  push(segment: Buffer): void {
    if (this.#decoder) {
      this.#keep(this.#decoder.push(segment));
      if (this.#decoder.sizeBytes > BODY_LIMIT_BYTES) throw new Error("body too large");
    } else this.#keep(segment);
    if (this.#pendingBytes > BODY_LIMIT_BYTES) throw new Error("request too large");
  }

  /** Returns the next complete request; undefined until more bytes arrive. Throws on data that is not HTTP/1.1. */
  next(sendContinue: () => void): HttpRequest | undefined {
    if (!this.#head && !this.#readHead()) return undefined;
    const head = this.#head;
    if (!head) return undefined;
    const body = this.#readBody(head, sendContinue);
    if (!body) return undefined;
    this.#head = undefined;
    this.#decoder = undefined;
    return { method: head.method, path: head.path, query: head.query, headers: head.headers, body };
  }

  #readHead(): boolean {
    const all = this.#takeAll();
    const end = all.indexOf("\r\n\r\n");
    if (end === -1) {
      if (all.length > HEAD_LIMIT_BYTES) throw new Error("head too large");
      this.#keep(all);
      return false;
    }
    this.#head = parseHead(all.toString("latin1", 0, end));
    this.#keep(all.subarray(end + 4));
    return true;
  }

  #readBody(head: Head, sendContinue: () => void): Buffer | undefined {
    const isNew = !this.#decoder && this.#pendingBytes === 0;
    if (isNew && head.expectsContinue) sendContinue();
    if (head.chunked) return this.#readChunkedBody();
    if (this.#pendingBytes < head.lengthBytes) return undefined;
    const all = this.#takeAll();
    this.#keep(all.subarray(head.lengthBytes));
    return all.subarray(0, head.lengthBytes);
  }

  #readChunkedBody(): Buffer | undefined {
    if (!this.#decoder) {
      this.#decoder = new ChunkedDecoder();
      this.#keep(this.#decoder.push(this.#takeAll()));
    }
    return this.#decoder.done ? this.#decoder.body() : undefined;
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #takeAll(): Buffer {
    const all = this.#pending.length === 1 ? this.#pending[0] : Buffer.concat(this.#pending);
    this.#pending = [];
    this.#pendingBytes = 0;
    return all ?? Buffer.alloc(0);
  }
}

function parseHead(text: string): Head {
  const [requestLine = "", ...lines] = text.split("\r\n");
  const [, method, target] = /^([A-Z]+) (\S+) HTTP\/1\.[01]$/.exec(requestLine) ?? [];
  if (!method || !target) throw new Error(`not a request: ${requestLine.slice(0, 80)}`);
  const headers = lines.map(parseHeader);
  const url = new URL(target, "http://simulator");
  const length = headerOf({ headers }, "content-length") ?? "0";
  if (!/^\d{1,12}$/.test(length)) throw new Error("bad content-length");
  return {
    method,
    path: url.pathname,
    query: url.searchParams,
    headers,
    chunked: /chunked/i.test(headerOf({ headers }, "transfer-encoding") ?? ""),
    lengthBytes: Number(length),
    expectsContinue: /100-continue/i.test(headerOf({ headers }, "expect") ?? ""),
  };
}

function parseHeader(line: string): readonly [string, string] {
  const colon = line.indexOf(":");
  if (colon < 1) throw new Error("bad header line");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}
