import { ProtocolFault } from "./message-reader.ts";

/** Reads the fields of a message's body, in their order. Throws a ProtocolFault where the body is too short. */
export class FieldReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Buffer) {
    this.#body = body;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#body.length;
  }

  int16(): number {
    return this.#body.readInt16BE(this.#advance(2));
  }

  int32(): number {
    return this.#body.readInt32BE(this.#advance(4));
  }

  byte(): string {
    return String.fromCharCode(this.#body[this.#advance(1)] ?? 0);
  }

  /** A text that ends with NUL, without it. */
  text(): string {
    const end = this.#body.indexOf(0, this.#at);
    if (end === -1) throw new ProtocolFault("A text in a message does not end.");
    const text = this.#body.toString("utf8", this.#at, end);
    this.#at = end + 1;
    return text;
  }

  bytes(count: number): Buffer {
    const start = this.#advance(count);
    return this.#body.subarray(start, start + count);
  }

  rest(): Buffer {
    return this.bytes(this.#body.length - this.#at);
  }

  #advance(count: number): number {
    const start = this.#at;
    if (count < 0 || start + count > this.#body.length) {
      throw new ProtocolFault("A message is shorter than its fields.");
    }
    this.#at = start + count;
    return start;
  }
}

export const int16 = (value: number): Buffer => {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
};

export const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** With the NUL at its end. */
export const text = (value: string): Buffer => Buffer.from(`${value}\0`);

/** Builds a message of either side: type, length, fields. */
export function message(type: string, ...fields: readonly Buffer[]): Buffer {
  const length = fields.reduce((sum, field) => sum + field.length, 4);
  return Buffer.concat([Buffer.from(type, "latin1"), int32(length), ...fields]);
}
