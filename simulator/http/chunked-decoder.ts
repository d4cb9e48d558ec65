const LINE_LIMIT_BYTES = 1024;

/** Decodes HTTP/1.1 chunked coding, however the bytes are split into segments. */
export class ChunkedDecoder {
  readonly parts: Buffer[] = [];
  sizeBytes = 0;
  done = false;
  #line = "";
  #left = 0;
  #state: "size" | "data" | "data-end" | "trailer" = "size";

  /** Reads one segment; returns the bytes after the end of the body. Throws on malformed coding. */
  push(segment: Buffer): Buffer {
    let at = 0;
    while (at < segment.length && !this.done) {
      at = this.#state === "data" ? this.#takeData(segment, at) : this.#takeLine(segment, at);
    }
    return segment.subarray(at);
  }

  body(): Buffer {
    return Buffer.concat(this.parts);
  }

  #takeData(segment: Buffer, from: number): number {
    const part = segment.subarray(from, from + this.#left);
    this.parts.push(part);
    this.sizeBytes += part.length;
    this.#left -= part.length;
    if (this.#left === 0) this.#state = "data-end";
    return from + part.length;
  }

  #takeLine(segment: Buffer, from: number): number {
    const end = segment.indexOf(10, from);
    this.#line += segment.toString("latin1", from, end === -1 ? segment.length : end);
    if (this.#line.length > LINE_LIMIT_BYTES) throw new Error("chunk line too long");
    if (end === -1) return segment.length;
    const line = this.#line.replace(/\r$/, "");
    this.#line = "";
    this.#endLine(line);
    return end + 1;
  }

  #endLine(line: string): void {
    if (this.#state === "data-end") {
      if (line !== "") throw new Error("chunk longer than its size");
      this.#state = "size";
      return;
    }
    if (this.#state === "trailer") {
      this.done = line === "";
      return;
    }
    const digits = line.split(";", 1)[0]?.trim() ?? "";
    if (!/^[0-9a-fA-F]{1,12}$/.test(digits)) throw new Error(`bad chunk size "${digits}"`);
    this.#left = Number.parseInt(digits, 16);
    this.#state = this.#left === 0 ? "trailer" : "data";
  }
}
