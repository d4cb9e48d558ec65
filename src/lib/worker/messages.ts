import type { Writable } from "node:stream";

const LINE_FEED = 0x0a;

/** To a worker process: a job, or what it has asked for: the next part of an input, whose bytes follow, or its end. */
export type ServerMessage =
  | { readonly job: unknown }
  | { readonly bytes: number }
  | { readonly isEnd: true };

/** From a worker process. */
export type WorkerMessage =
  /** With `bytes`, they are the result's `data`. */
  | { readonly result: unknown; readonly bytes?: number }
  /** It waits for the next part of this input. */
  | { readonly needs: string }
  | { readonly isDone: true }
  | { readonly failure: { readonly code: string | null; readonly message: string } };

/** One line of JSON and, where its `bytes` says so, as many bytes behind it, as they are. */
export interface Received<Head> {
  readonly head: Head;
  readonly data: Buffer | undefined;
}

/** Writes a message. Resolves when the stream has taken it, also in vain. */
export function sendMessage<Head extends ServerMessage | WorkerMessage>(
  stream: Writable,
  head: Head,
  data?: Uint8Array,
): Promise<void> {
  const line = `${JSON.stringify(head)}\n`;
  return new Promise((resolve) => {
    const taken = () => resolve();
    // In one piece, so that the reader wakes up once.
    stream.write(data === undefined ? line : Buffer.concat([Buffer.from(line), data]), taken);
  });
}

/** A message whose line is read. */
interface Begun<Head> extends Received<Head> {
  /** Bytes that have not come yet. */
  missing: number;
}

/**
 * Splits a stream of bytes into messages. Bytes may be split anywhere. A line, or the bytes behind it, of more than
 * `maxBytes` end the reading: `tooLong` becomes true and no further message is returned. Throws a `SyntaxError` for a
 * line that is no JSON.
 */
export class MessageReader<Head> {
  readonly #maxBytes: number;
  /** Of a line that has not ended. */
  #pieces: Uint8Array[] = [];
  #lineBytes = 0;
  #begun: Begun<Head> | undefined;
  #tooLong = false;

  constructor(maxBytes = Number.POSITIVE_INFINITY) {
    this.#maxBytes = maxBytes;
  }

  get tooLong(): boolean {
    return this.#tooLong;
  }

  /** Returns the messages that these bytes complete. */
  read(piece: Uint8Array): readonly Received<Head>[] {
    const messages: Received<Head>[] = [];
    for (let at = 0; at < piece.length && !this.#tooLong; ) {
      const rest = piece.subarray(at);
      at += this.#begun === undefined ? this.#takeLine(rest) : takeData(this.#begun, rest);
      if (this.#begun?.missing !== 0) continue;
      const { head, data } = this.#begun;
      messages.push({ head, data });
      this.#begun = undefined;
    }
    return messages;
  }

  /** Returns how many bytes are taken. */
  #takeLine(bytes: Uint8Array): number {
    const end = bytes.indexOf(LINE_FEED);
    const line = end < 0 ? bytes : bytes.subarray(0, end);
    this.#lineBytes += line.length;
    this.#tooLong = this.#lineBytes > this.#maxBytes;
    if (this.#tooLong) this.#pieces = [];
    else this.#pieces.push(line);
    if (end < 0 || this.#tooLong) return bytes.length;
    this.#begin(Buffer.concat(this.#pieces).toString());
    this.#pieces = [];
    this.#lineBytes = 0;
    return end + 1;
  }

  #begin(line: string): void {
    const head = JSON.parse(line) as Head & { readonly bytes?: number };
    const { bytes = 0 } = head;
    // A number that is no length comes from a process that is broken, or in other hands: nothing more is read of it.
    this.#tooLong = !(Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= this.#maxBytes);
    if (this.#tooLong) return;
    const data = head.bytes === undefined ? undefined : Buffer.alloc(bytes);
    this.#begun = { head, data, missing: bytes };
  }
}

/** Returns how many bytes are taken. */
function takeData(begun: Begun<unknown>, bytes: Uint8Array): number {
  const { data, missing } = begun;
  const taken = bytes.subarray(0, missing);
  data?.set(taken, data.length - missing);
  begun.missing -= taken.length;
  return taken.length;
}
