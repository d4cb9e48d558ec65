/** A body that is not a multipart form. The message gives the sender the reason. */
export class BrokenForm extends Error {
  override readonly name = "BrokenForm";
}

/** What a form consists of, in its order: `part data* part data* … end`. */
export type FormToken =
  | { readonly type: "part"; readonly part: PartStart }
  | { readonly type: "data"; readonly bytes: Uint8Array }
  | { readonly type: "end" };

/** What the headers of a part say. */
export interface PartStart {
  readonly name: string;
  /** Makes it a file; a text field has none. */
  readonly filename: string | undefined;
  /** The header lines as they came, without the empty line after them. */
  readonly head: Uint8Array;
}

const LINE_END = "\r\n";
const HEAD_END = "\r\n\r\n";
const MAX_PREAMBLE_BYTES = 64 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** White space that may follow a delimiter. */
const MAX_PADDING_BYTES = 256;
const MAX_PARTS = 1_000;

type State = "preamble" | "delimiter" | "head" | "data" | "end";

/**
 * Reads a multipart form while it arrives. Bytes may be cut anywhere; of the contents only what may be the beginning of a
 * delimiter is held back. Throws `BrokenForm`.
 *
 * A scanner of our own, because it is stricter than libraries: two readers of one form must not see two forms.
 */
export class MultipartScanner {
  readonly #delimiter: Buffer;
  #state: State = "preamble";
  /** Bytes not yet consumed. It starts with a line end, because the first delimiter has none before it. */
  #rest: Buffer = Buffer.from(LINE_END);
  #preambleBytes = 0;
  #parts = 0;

  constructor(boundary: string) {
    this.#delimiter = Buffer.from(`${LINE_END}--${boundary}`, "latin1");
  }

  read(bytes: Uint8Array): readonly FormToken[] {
    if (this.#state === "end") return [];
    this.#rest = this.#rest.length === 0 ? view(bytes) : Buffer.concat([this.#rest, bytes]);
    const tokens: FormToken[] = [];
    while (this.#step(tokens)) {
      // Each step consumes some bytes, until too few are left.
    }
    return tokens;
  }

  /** Must be called at the end of the body. */
  end(): void {
    if (this.#state !== "end") throw new BrokenForm("it ends before its closing boundary");
  }

  #step(tokens: FormToken[]): boolean {
    switch (this.#state) {
      case "preamble":
        return this.#skipPreamble();
      case "delimiter":
        return this.#readDelimiterEnd(tokens);
      case "head":
        return this.#readHead(tokens);
      case "data":
        return this.#readData(tokens);
      case "end":
        return false;
    }
  }

  #skipPreamble(): boolean {
    const at = this.#rest.indexOf(this.#delimiter);
    const skipped = at < 0 ? this.#surelyData() : at;
    this.#preambleBytes += skipped;
    if (this.#preambleBytes > MAX_PREAMBLE_BYTES) {
      throw new BrokenForm("its boundary is not the one that the Content-Type header names");
    }
    return this.#passDelimiter(at, skipped);
  }

  #readData(tokens: FormToken[]): boolean {
    const at = this.#rest.indexOf(this.#delimiter);
    const length = at < 0 ? this.#surelyData() : at;
    if (length > 0) tokens.push({ type: "data", bytes: this.#rest.subarray(0, length) });
    return this.#passDelimiter(at, length);
  }

  /** Returns how many of the pending bytes cannot be the beginning of a delimiter. */
  #surelyData(): number {
    return Math.max(0, this.#rest.length - this.#delimiter.length + 1);
  }

  #passDelimiter(at: number, taken: number): boolean {
    const isFound = at >= 0;
    this.#rest = this.#rest.subarray(isFound ? at + this.#delimiter.length : taken);
    if (isFound) this.#state = "delimiter";
    return isFound;
  }

  /** A delimiter is followed by `--`, which ends the form, or by the line's end. */
  #readDelimiterEnd(tokens: FormToken[]): boolean {
    if (this.#rest.length < 2) return false;
    if (this.#rest.toString("latin1", 0, 2) === "--") {
      this.#state = "end";
      this.#rest = Buffer.alloc(0);
      tokens.push({ type: "end" });
      return false;
    }
    const at = this.#rest.indexOf(LINE_END);
    const padding = this.#rest.toString("latin1", 0, at < 0 ? this.#rest.length : at);
    if (!/^[ \t]*\r?$/.test(padding) || padding.length > MAX_PADDING_BYTES) {
      throw new BrokenForm("a boundary is followed by something else");
    }
    if (at < 0) return false;
    // The line end stays: if the head is empty, it is the first half of the head's end.
    this.#rest = this.#rest.subarray(at);
    this.#state = "head";
    return true;
  }

  #readHead(tokens: FormToken[]): boolean {
    const at = this.#rest.indexOf(HEAD_END);
    if ((at < 0 ? this.#rest.length : at) > MAX_HEAD_BYTES) {
      throw new BrokenForm("the headers of a part are too long");
    }
    if (at < 0) return false;
    this.#parts += 1;
    if (this.#parts > MAX_PARTS) throw new BrokenForm("it has too many parts");
    const head = this.#rest.subarray(LINE_END.length, Math.max(at, LINE_END.length));
    tokens.push({ type: "part", part: readHead(head) });
    this.#rest = this.#rest.subarray(at + HEAD_END.length);
    this.#state = "data";
    return true;
  }
}

/**
 * A parameter with its value, quoted or not, or a quoted text that belongs to none: what stands in quotation marks is no
 * parameter. A quoted text without an end reaches to the end of the line, so that each character is read once.
 */
const PARAMETERS =
  /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)("?)|([^;\s"]*))|"(?:[^"\\]|\\.)*"?/gs;
const NAMES = /^name\*?\d*\*?$/;

function readHead(head: Buffer): PartStart {
  const lines = head.toString("utf8").split(LINE_END);
  const dispositions = lines.filter((line) => /^content-disposition\s*:/i.test(line));
  const parameters = readParameters(dispositions[0] ?? "");
  const names = parameters.filter(([name]) => NAMES.test(name));
  // Another server may read the other one of two names, and extended ones, which are not read here.
  if (dispositions.length > 1 || names.length > 1 || names.some(([name]) => name.includes("*"))) {
    throw new BrokenForm("a part has two names, or a name in the extended form 'name*='");
  }
  const [named] = names;
  if (named === undefined) throw new BrokenForm("a part has no name");
  // The extended form is the name itself; beside it clients write what older servers can read.
  const [, filename] =
    parameters.find(([name]) => name === "filename*") ??
    parameters.find(([name]) => name === "filename") ??
    [];
  return { name: named[1], filename, head };
}

/** Returns the parameters' names, in lower case, and values. */
function readParameters(disposition: string): [name: string, value: string][] {
  const parameters: [name: string, value: string][] = [];
  for (const [, given, quoted, end, plain] of disposition.matchAll(PARAMETERS)) {
    const name = given?.toLowerCase();
    if (name === undefined || (plain === "" && !name.startsWith("filename"))) continue;
    // Browsers write a backslash at the end of a file's name as it is.
    if (quoted !== undefined && end === "" && name !== "filename") {
      throw new BrokenForm("a part has a quoted value that does not end");
    }
    parameters.push([name, quoted?.replace(/\\(.)/g, "$1") ?? plain ?? ""]);
  }
  return parameters;
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
