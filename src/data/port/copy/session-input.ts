import { type Message, MessageReader } from "../protocol/message-reader.ts";

/** More than a message of the port's clients has. */
const MESSAGE_MAX = 64 * 1024 * 1024;
const INPUT_MAX_BYTES = 1024 * 1024;

/** What a client has sent and its session has not handled yet. */
export class SessionInput {
  readonly #reader = new MessageReader(MESSAGE_MAX);
  readonly #messages: Message[] = [];
  #bytes = 0;
  #waiting: (() => void)[] = [];

  /** Returns false when the client should wait for `drained`. */
  add(bytes: Buffer): boolean {
    for (const { type, body } of this.#reader.read(bytes)) {
      this.#messages.push({ type, body: Buffer.from(body) });
      this.#bytes += body.length;
    }
    return this.#bytes < INPUT_MAX_BYTES;
  }

  /** Takes the next message. */
  take(): Message | undefined {
    const next = this.#messages.shift();
    this.#bytes -= next?.body.length ?? 0;
    this.#wake();
    return next;
  }

  clear(): void {
    this.#messages.length = 0;
    this.#bytes = 0;
    this.#wake();
  }

  drained(): Promise<void> {
    if (this.#bytes < INPUT_MAX_BYTES) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    if (this.#bytes >= INPUT_MAX_BYTES) return;
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
