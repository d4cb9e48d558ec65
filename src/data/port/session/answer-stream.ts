import { message } from "../protocol/fields.ts";
import { ProtocolFault } from "../protocol/message-reader.ts";

const HEAD_BYTES = 5;
const LENGTH_BYTES = 4;

/**
 * What becomes of a message: it passes, it is dropped, it is held until it is whole, or it is dropped and the bytes are
 * written in its place.
 */
export type Decision = "pass" | "drop" | "hold" | Buffer;

export interface AnswerVisitor {
  /** Called at the head of each message. */
  readonly decide: (type: string, bodyBytes: number) => Decision;
  /** Called with a message that was held; returns what to write instead, or undefined to pass it. */
  readonly held: (type: string, body: Buffer, isWhole: boolean) => Buffer | undefined;
  /** Called after the last byte of a message that passed or was dropped. */
  readonly finished: (type: string) => void;
}

/**
 * Passes the messages of a backend on, cut anywhere, without joining them: whatever passes is written in slices of the
 * chunks that came. Throws a ProtocolFault for a length below 4, and whatever the visitor throws.
 */
export class AnswerStream {
  readonly #visitor: AnswerVisitor;
  readonly #write: (bytes: Buffer) => void;
  readonly #maxHeldBytes: number;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headBytes = 0;
  /** Of the message in progress. */
  #type = "";
  #left = 0;
  #decision: Decision = "drop";
  /** The visitor has had it whole already. */
  #wasHeld = false;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #stop: (() => void) | undefined;
  #isStopped = false;

  constructor(
    visitor: AnswerVisitor,
    write: (bytes: Buffer) => void,
    { maxHeldBytes }: { readonly maxHeldBytes: number },
  ) {
    this.#visitor = visitor;
    this.#write = write;
    this.#maxHeldBytes = maxHeldBytes;
  }

  /** Calls `stopped` where the client has only whole messages, at once or later; nothing is written after that. */
  stopAtBorder(stopped: () => void): void {
    if (this.#isStopped) return;
    this.#stop = stopped;
    if (this.#left === 0 || this.#decision !== "pass") this.#stopNow();
  }

  take(chunk: Buffer): void {
    let at = 0;
    /** Where the slice that passes begins; -1 for none. */
    let from = this.#left > 0 && this.#decision === "pass" ? 0 : -1;
    while (at < chunk.length && !this.#isStopped) {
      if (this.#left === 0) {
        const body = this.#readHead(chunk, at);
        if (body === undefined) break;
        from = this.#begin(chunk, { start: at, body, from });
        at = body;
      }
      const taken = Math.min(this.#left, chunk.length - at);
      if (this.#decision === "hold") this.#hold(chunk.subarray(at, at + taken));
      this.#left -= taken;
      at += taken;
      if (this.#left > 0) break;
      from = this.#end(chunk, at, from);
    }
    if (from >= 0) this.#pass(chunk, from, at);
  }

  /** Returns where the body begins; undefined while the head is incomplete. */
  #readHead(chunk: Buffer, at: number): number | undefined {
    if (this.#headBytes === 0 && at + HEAD_BYTES <= chunk.length) {
      this.#open(chunk[at] ?? 0, chunk.readInt32BE(at + 1));
      return at + HEAD_BYTES;
    }
    const copied = chunk.copy(this.#head, this.#headBytes, at, at + HEAD_BYTES - this.#headBytes);
    this.#headBytes += copied;
    if (this.#headBytes < HEAD_BYTES) return undefined;
    this.#headBytes = 0;
    this.#open(this.#head[0] ?? 0, this.#head.readInt32BE(1));
    return at + copied;
  }

  #open(type: number, length: number): void {
    if (length < LENGTH_BYTES) throw new ProtocolFault("A message has a length below 4.");
    this.#type = String.fromCharCode(type);
    this.#left = length - LENGTH_BYTES;
  }

  /** Decides about the message whose head is complete. Returns where the slice that passes begins. */
  #begin(
    chunk: Buffer,
    { start, body, from }: { readonly start: number; readonly body: number; readonly from: number },
  ): number {
    this.#decision = this.#visitor.decide(this.#type, this.#left);
    const end = body + this.#left;
    if (this.#decision === "hold" && end <= chunk.length) {
      // Without a copy, and in one slice with what passes around it.
      this.#decision = this.#visitor.held(this.#type, chunk.subarray(body, end), true) ?? "pass";
      this.#wasHeld = true;
    }
    if (this.#decision === "pass") {
      if (from >= 0) return from;
      if (body - start === HEAD_BYTES) return start;
      this.#write(Buffer.from(this.#head));
      return body;
    }
    if (from >= 0) this.#pass(chunk, from, start);
    if (this.#decision instanceof Buffer) this.#write(this.#decision);
    return -1;
  }

  /** After the last byte of a message. Returns where the slice that passes begins. */
  #end(chunk: Buffer, at: number, from: number): number {
    if (this.#decision === "hold") this.#release();
    else if (!this.#wasHeld) this.#visitor.finished(this.#type);
    this.#wasHeld = false;
    if (this.#stop === undefined) return from;
    if (from >= 0) this.#pass(chunk, from, at);
    this.#stopNow();
    return -1;
  }

  #hold(bytes: Buffer): void {
    const kept = bytes.subarray(0, Math.max(this.#maxHeldBytes - this.#heldBytes, 0));
    if (kept.length > 0) this.#held.push(Buffer.from(kept));
    this.#heldBytes += bytes.length;
  }

  #release(): void {
    const body = Buffer.concat(this.#held);
    const isWhole = body.length === this.#heldBytes;
    this.#held = [];
    this.#heldBytes = 0;
    this.#write(this.#visitor.held(this.#type, body, isWhole) ?? message(this.#type, body));
  }

  #pass(chunk: Buffer, from: number, to: number): void {
    // The chunk is valid only during the call.
    if (to > from) this.#write(Buffer.from(chunk.subarray(from, to)));
  }

  #stopNow(): void {
    this.#isStopped = true;
    this.#stop?.();
  }
}
