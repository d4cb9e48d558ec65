const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The most UTF-8 bytes per UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3;

const encoder = new TextEncoder();

/**
 * Splits a stream of UTF-8 bytes into lines. Bytes may be split anywhere, even inside a character. Lines end with LF,
 * CRLF or CR. Empty lines are skipped, so a CRLF split across two reads counts once. A line of more than `maxLineBytes`
 * bytes ends the reading: `tooLong` becomes true and no further line is returned.
 */
export class LineReader {
  readonly #maxLineBytes: number;
  readonly #decoder = new TextDecoder();
  #pending = "";
  #pendingBytes = 0;
  #tooLong = false;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  get tooLong(): boolean {
    return this.#tooLong;
  }

  /** Returns the lines that these bytes complete. */
  read(bytes: Uint8Array): readonly string[] {
    if (this.#tooLong) return [];
    const text = this.#decoder.decode(bytes, { stream: true });
    const linesEnd = endOfLastLine(bytes);
    if (linesEnd === 0) {
      this.#keep(this.#pending + text, this.#pendingBytes + bytes.length);
      return [];
    }
    const parts = splitLines(this.#pending + text);
    const rest = parts.pop() ?? "";
    const lines = this.#accept(parts);
    if (!this.#tooLong) this.#keep(rest, bytes.length - linesEnd);
    return lines;
  }

  /** Returns the line that the end of the stream completes, if any. */
  end(): readonly string[] {
    if (this.#tooLong) return [];
    const text = this.#pending + this.#decoder.decode();
    this.#pending = "";
    return this.#accept([text]);
  }

  #keep(text: string, byteLength: number): void {
    this.#tooLong = byteLength > this.#maxLineBytes;
    this.#pending = this.#tooLong ? "" : text;
    this.#pendingBytes = byteLength;
  }

  #accept(parts: readonly string[]): readonly string[] {
    const lines: string[] = [];
    for (const part of parts) {
      if (this.#isTooLong(part)) {
        this.#tooLong = true;
        this.#pending = "";
        break;
      }
      if (part !== "") lines.push(part);
    }
    return lines;
  }

  #isTooLong(line: string): boolean {
    if (line.length * MAX_BYTES_PER_UNIT <= this.#maxLineBytes) return false;
    return encoder.encode(line).length > this.#maxLineBytes;
  }
}

/** Returns the index just past the last line end, 0 when there is none. */
function endOfLastLine(bytes: Uint8Array): number {
  return Math.max(bytes.lastIndexOf(LINE_FEED), bytes.lastIndexOf(CARRIAGE_RETURN)) + 1;
}

function splitLines(text: string): string[] {
  return text.includes("\r") ? text.split(/[\r\n]/) : text.split("\n");
}
