import { BrokenForm, type FormPart, MultipartScanner } from "./multipart-scanner.ts";

export interface FormField {
  readonly name: string;
  readonly value: string;
}

/** Inspects a form while it passes through. An error that it throws ends the form. */
export interface FormWatcher {
  /** Names of fields that are read whole before they are passed on. */
  readonly reads: ReadonlySet<string>;
  readonly onPart: (part: FormPart) => void;
  /** Returns the value that is passed on for the field. */
  readonly onField: (field: FormField) => string | Promise<string>;
  /** Called at the end of the form. Returns fields to append. */
  readonly onEnd: () => readonly FormField[] | Promise<readonly FormField[]>;
}

/** Limits the fields that are read. All other parts may have any length. */
const MAX_FIELD_BYTES = 8 * 1024;
const LINE_END = Buffer.from("\r\n");
const HEAD_END = Buffer.from("\r\n\r\n");

/**
 * Relays a multipart form piece by piece as it is pulled, under the same boundary. Heads and contents of parts are
 * unchanged except for the fields that are read. Throws `BrokenForm`, and any error of the source or the watcher.
 */
export async function* relayForm(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
  watcher: FormWatcher,
): AsyncGenerator<Uint8Array, undefined> {
  const scanner = new MultipartScanner(boundary);
  const writer = new FormWriter(boundary, watcher);
  for await (const bytes of source) {
    for (const token of scanner.read(bytes)) {
      switch (token.type) {
        case "part":
          yield* await writer.begin(token);
          break;
        case "data":
          yield* writer.data(token.bytes);
          break;
        case "end":
          yield* await writer.end();
          break;
      }
    }
  }
  scanner.end();
}

class FormWriter {
  readonly #delimiter: Buffer;
  readonly #closing: Buffer;
  readonly #watcher: FormWatcher;
  /** The field being read, and its pieces so far. */
  #field: { readonly part: FormPart; readonly pieces: Uint8Array[] } | undefined;
  #isInPart = false;

  constructor(boundary: string, watcher: FormWatcher) {
    this.#delimiter = Buffer.from(`--${boundary}\r\n`, "latin1");
    this.#closing = Buffer.from(`--${boundary}--\r\n`, "latin1");
    this.#watcher = watcher;
  }

  async begin(part: FormPart): Promise<readonly Uint8Array[]> {
    const before = await this.#endPart();
    this.#watcher.onPart(part);
    if (this.#watcher.reads.has(part.name)) {
      this.#field = { part, pieces: [] };
      return before;
    }
    this.#isInPart = true;
    return [...before, Buffer.concat([this.#delimiter, part.head, HEAD_END])];
  }

  data(bytes: Uint8Array): readonly Uint8Array[] {
    if (this.#field === undefined) return [bytes];
    const { part, pieces } = this.#field;
    pieces.push(bytes);
    if (lengthOf(pieces) > MAX_FIELD_BYTES) {
      throw new BrokenForm(`the field '${part.name}' is too long`);
    }
    return [];
  }

  async end(): Promise<readonly Uint8Array[]> {
    const before = await this.#endPart();
    const added = await this.#watcher.onEnd();
    return [
      ...before,
      ...added.map((field) => this.#write(headOf(field), field.value)),
      this.#closing,
    ];
  }

  async #endPart(): Promise<readonly Uint8Array[]> {
    const field = this.#field;
    if (field !== undefined) {
      this.#field = undefined;
      const { head, name } = field.part;
      const value = Buffer.concat(field.pieces).toString("utf8");
      return [this.#write(head, await this.#watcher.onField({ name, value }))];
    }
    if (!this.#isInPart) return [];
    this.#isInPart = false;
    return [LINE_END];
  }

  #write(head: Uint8Array, value: string): Uint8Array {
    return Buffer.concat([this.#delimiter, head, HEAD_END, Buffer.from(value), LINE_END]);
  }
}

/** Needs no escaping: the names of added fields are our own constants. */
function headOf({ name }: FormField): Uint8Array {
  return Buffer.from(`Content-Disposition: form-data; name="${name}"`);
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
