/** One message: its type as a character, and its body without the length. */
export interface Message {
  readonly type: string;
  /** Valid until the reader gets more bytes, unless it was copied. */
  readonly body: Buffer;
}

/** The bytes are no protocol. */
export class ProtocolFault extends Error {
  override readonly name = "ProtocolFault";
}

const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;
const NONE = Buffer.alloc(0);

/**
 * Cuts a stream of bytes into messages: a type, an Int32 of length that counts itself, a body. For messages that are
 * held whole; answers that pass through are counted by `MessageScanner` instead.
 */
export class MessageReader {
  readonly #maxBytes: number;
  readonly #types: string | undefined;
  /** Its first `#heldBytes` bytes begin an incomplete message; what follows is room for the next chunks. */
  #held: Buffer = NONE;
  #heldBytes = 0;

  /**
   * @param maxBytes of one message's body; more is a fault, before it is read.
   * @param types that may come, one character each; another one is a fault, before its body is read. Unset takes all.
   */
  constructor(maxBytes: number, types?: string) {
    this.#maxBytes = maxBytes;
    this.#types = types;
  }

  /** Takes bytes and yields the messages that are complete. Throws a ProtocolFault. */
  *read(bytes: Buffer): Generator<Message, void> {
    const joined = this.#heldBytes === 0 ? bytes : this.#append(bytes);
    let left = joined;
    for (
      let length = this.#bodyLength(left);
      length !== undefined;
      length = this.#bodyLength(left)
    ) {
      const end = HEAD_BYTES + length;
      if (left.length < end) break;
      const body = left.subarray(HEAD_BYTES, end);
      const type = String.fromCharCode(left[0] ?? 0);
      left = left.subarray(end);
      // A consumer that stops early finds the rest here.
      this.#hold(left);
      yield { type, body };
    }
    // What was appended is held already.
    if (left !== joined || joined === bytes) this.#hold(Buffer.from(left));
  }

  #hold(bytes: Buffer): void {
    this.#held = bytes;
    this.#heldBytes = bytes.length;
  }

  /** Returns all that is held. It grows by doubling, so that many small chunks cost neither objects nor copies. */
  #append(bytes: Buffer): Buffer {
    const end = this.#heldBytes + bytes.length;
    if (end > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, 2 * this.#held.length));
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    bytes.copy(this.#held, this.#heldBytes);
    this.#heldBytes = end;
    return this.#held.subarray(0, end);
  }

  /** Undefined while the head is incomplete. */
  #bodyLength(bytes: Buffer): number | undefined {
    if (bytes.length < HEAD_BYTES) return undefined;
    const type = String.fromCharCode(bytes[0] ?? 0);
    if (this.#types?.includes(type) === false) {
      throw new ProtocolFault(`A message of type ${JSON.stringify(type)} is not due here.`);
    }
    const length = bytes.readInt32BE(1) - LENGTH_BYTES;
    if (length < 0 || length > this.#maxBytes) {
      throw new ProtocolFault(`A message has ${length + LENGTH_BYTES} bytes by its length.`);
    }
    return length;
  }
}

/**
 * Follows the heads of messages in bytes that pass through, without holding any: `bodies` of types that the visitor
 * wants whole are collected, up to a limit.
 */
export class MessageScanner {
  readonly #visit: (type: string, bodyBytes: number) => void;
  #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  #left = 0;

  /** @param visit is called at each head, with the bytes of the body that follows it. */
  constructor(visit: (type: string, bodyBytes: number) => void) {
    this.#visit = visit;
  }

  /** True where the last byte seen ended a message. */
  get isAtBorder(): boolean {
    return this.#headBytes === 0 && this.#left === 0;
  }

  /** Throws a ProtocolFault for a length below 4. */
  scan(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.#left > 0) {
        const taken = Math.min(this.#left, bytes.length - at);
        this.#left -= taken;
        at += taken;
        continue;
      }
      const copied = bytes.copy(this.#head, this.#headBytes, at, at + HEAD_BYTES - this.#headBytes);
      this.#headBytes += copied;
      at += copied;
      if (this.#headBytes < HEAD_BYTES) return;
      this.#headBytes = 0;
      this.#left = this.#head.readInt32BE(1) - LENGTH_BYTES;
      if (this.#left < 0) throw new ProtocolFault("A message has a length below 4.");
      this.#visit(String.fromCharCode(this.#head[0] ?? 0), this.#left);
    }
  }
}
