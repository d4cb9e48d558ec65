/** The largest size of the status line and headers together, and of a line between chunks. */
const HEAD_MAX_BYTES = 65_536;

const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/;
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
/** Leading zeros are allowed. */
const CHUNK_SIZE_LINE = /^0*[0-9a-f]{1,12}[ \t]*(?:;|$)/i;
const LENGTH = /^\d{1,15}$/;
/** Headers that determine where the body ends. A repeated one must not be ignored. */
const FRAMING: ReadonlySet<string> = new Set(["content-length", "transfer-encoding", "connection"]);

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
/** More digits would overflow a 32-bit number; no real chunk needs them. */
const SHORT_SIZE_DIGITS = 7;

export interface ResponseHead {
  readonly status: number;
  /** By lower-case name. For repeated headers the first value counts. */
  readonly headers: ReadonlyMap<string, string>;
}

/** The server sent something other than an HTTP/1.1 response. */
export class MalformedResponse extends Error {
  override readonly name = "MalformedResponse";
  readonly code = "MALFORMED_RESPONSE";
}

type State = "status" | "headers" | "chunk size" | "body" | "chunk end" | "trailers" | "complete";

/** Parses one HTTP/1.1 response (RFC 9112) incrementally. Bytes may be split anywhere. */
export class HttpResponseReader {
  #state: State = "status";
  /** The incomplete line so far, and the number of line bytes since the last piece of the body. */
  #line = "";
  #lineBytes = 0;
  /** Bytes left of the body or of the current chunk; infinite where the body ends with the connection. */
  #bytesLeft = 0;
  #isChunked = false;
  /** The range of body bytes found so far in the bytes being read. */
  #bodyStart = 0;
  #bodyEnd = 0;
  #status = 0;
  #isKept = false;
  #headers = new Map<string, string>();
  #head: ResponseHead | undefined;

  /** Undefined until all headers have been read. */
  get head(): ResponseHead | undefined {
    return this.#head;
  }

  get isComplete(): boolean {
    return this.#state === "complete";
  }

  /** True when the response is complete and the server allows another call on the connection. */
  get leavesConnectionOpen(): boolean {
    return this.isComplete && this.#isKept;
  }

  /**
   * Returns the body bytes among `bytes` as a subarray of it. They are moved together in place, over the framing
   * between them. Throws `MalformedResponse`.
   */
  read(bytes: Buffer): Uint8Array | undefined {
    this.#bodyStart = 0;
    this.#bodyEnd = 0;
    let position = 0;
    while (position < bytes.length && this.#state !== "complete") {
      if (this.#state === "body") position = this.#takeBody(bytes, position);
      else position = this.#readShortLine(bytes, position) ?? this.#readLine(bytes, position);
    }
    // The server sent more than it declared, so the next response on this connection could not be trusted.
    if (position < bytes.length) this.#isKept = false;
    if (this.#bodyStart === this.#bodyEnd) return undefined;
    return bytes.subarray(this.#bodyStart, this.#bodyEnd);
  }

  /** The server closed the connection, which can be the end of the body. */
  end(): void {
    if (this.#state === "body" && this.#bytesLeft === Number.POSITIVE_INFINITY) {
      this.#state = "complete";
    }
    this.#isKept = false;
  }

  #takeBody(bytes: Buffer, start: number): number {
    const end = Math.min(bytes.length, start + this.#bytesLeft);
    if (this.#bodyStart === this.#bodyEnd) {
      this.#bodyStart = start;
      this.#bodyEnd = end;
    } else {
      bytes.copyWithin(this.#bodyEnd, start, end);
      this.#bodyEnd += end - start;
    }
    this.#bytesLeft -= end - start;
    if (this.#bytesLeft === 0) this.#state = this.#isChunked ? "chunk end" : "complete";
    return end;
  }

  /**
   * Parses the lines around a chunk in their usual form without creating strings. Each token of a stream has one of
   * each.
   */
  #readShortLine(bytes: Buffer, start: number): number | undefined {
    if (this.#line !== "") return undefined;
    let position = start;
    if (this.#state === "chunk size") {
      let size = 0;
      const mostDigits = start + SHORT_SIZE_DIGITS;
      for (; position < mostDigits; position += 1) {
        const digit = hexDigit(bytes[position]);
        if (digit < 0) break;
        size = size * 16 + digit;
      }
      if (position === start || !isLineEnd(bytes, position)) return undefined;
      this.#beginChunk(size);
    } else if (this.#state === "chunk end" && isLineEnd(bytes, position)) {
      this.#state = "chunk size";
    } else {
      return undefined;
    }
    return position + 2;
  }

  #readLine(bytes: Buffer, start: number): number {
    const feed = bytes.indexOf(LINE_FEED, start);
    const end = feed < 0 ? bytes.length : feed;
    this.#lineBytes += end - start;
    if (this.#lineBytes > HEAD_MAX_BYTES) throw new MalformedResponse("the headers are too long");
    const line = this.#line + bytes.toString("latin1", start, end);
    if (feed < 0) {
      this.#line = line;
      return end;
    }
    this.#line = "";
    this.#takeLine(line.endsWith("\r") ? line.slice(0, -1) : line);
    return feed + 1;
  }

  #takeLine(line: string): void {
    if (this.#state === "status") {
      this.#takeStatus(line);
    } else if (this.#state === "headers") {
      if (line === "") this.#endHead();
      else this.#takeHeader(line);
    } else if (this.#state === "chunk size") {
      this.#takeChunkSize(line);
    } else if (this.#state === "chunk end") {
      if (line !== "") throw new MalformedResponse("a chunk is longer than its size");
      this.#state = "chunk size";
    } else if (line === "") {
      this.#state = "complete";
    }
  }

  #takeStatus(line: string): void {
    const match = STATUS_LINE.exec(line);
    if (match === null) throw new MalformedResponse("the status line is invalid");
    this.#isKept = match[1] === "1";
    this.#status = Number(match[2]);
    this.#state = "headers";
  }

  #takeHeader(line: string): void {
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(colon, 0)).toLowerCase();
    if (!HEADER_NAME.test(name)) throw new MalformedResponse("a header line is invalid");
    const value = line.slice(colon + 1).trim();
    const before = this.#headers.get(name);
    if (before === undefined) this.#headers.set(name, value);
    else if (FRAMING.has(name)) this.#headers.set(name, `${before}, ${value}`);
  }

  #endHead(): void {
    const status = this.#status;
    const headers = this.#headers;
    this.#lineBytes = 0;
    if (status < 200) {
      // 101 switches to another protocol, which was not requested. After any other 1xx the real response follows.
      if (status === 101) throw new MalformedResponse("an upgrade was not requested");
      this.#headers = new Map();
      this.#state = "status";
      return;
    }
    this.#head = { status, headers };
    this.#takeConnection(headers.get("connection")?.toLowerCase());
    if (status === 204 || status === 304) this.#state = "complete";
    else this.#beginBody(headers.get("transfer-encoding"), headers.get("content-length"));
  }

  #takeConnection(options: string | undefined): void {
    if (options === undefined) return;
    if (options.includes("close")) this.#isKept = false;
    else if (options.includes("keep-alive")) this.#isKept = true;
  }

  #beginBody(encoding: string | undefined, length: string | undefined): void {
    if (encoding !== undefined && isChunked(encoding)) {
      // Both headers together indicate a proxy that was misled.
      if (length !== undefined) this.#isKept = false;
      this.#isChunked = true;
      this.#state = "chunk size";
    } else if (length === undefined) {
      this.#bytesLeft = Number.POSITIVE_INFINITY;
      this.#state = "body";
    } else {
      if (!LENGTH.test(length)) throw new MalformedResponse("the content length is invalid");
      this.#bytesLeft = Number(length);
      this.#state = this.#bytesLeft === 0 ? "complete" : "body";
    }
  }

  #takeChunkSize(line: string): void {
    if (!CHUNK_SIZE_LINE.test(line)) throw new MalformedResponse("a chunk size is invalid");
    this.#beginChunk(Number.parseInt(line, 16));
  }

  #beginChunk(size: number): void {
    this.#lineBytes = 0;
    this.#bytesLeft = size;
    this.#state = size === 0 ? "trailers" : "body";
  }
}

/**
 * Returns true for a chunked body. Throws for a coding that was not requested: its bytes would be taken for the body.
 */
function isChunked(encoding: string): boolean {
  const codings = new Set(encoding.toLowerCase().split(/[ \t]*,[ \t]*/));
  // Older servers send this for an unencoded body.
  codings.delete("identity");
  if (codings.size === 0) return false;
  if (codings.size > 1 || !codings.has("chunked")) {
    throw new MalformedResponse("the transfer coding was not requested");
  }
  return true;
}

function isLineEnd(bytes: Buffer, position: number): boolean {
  return bytes[position] === CARRIAGE_RETURN && bytes[position + 1] === LINE_FEED;
}

/** Returns the value of an ASCII character as a hexadecimal digit, or -1. */
function hexDigit(character = 0): number {
  if (character >= 0x30 && character <= 0x39) return character - 0x30;
  const letter = character | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
