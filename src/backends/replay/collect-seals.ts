import type { ChatEvent, ChatEvents } from "../../core/chat/chat-event.ts";
import type { ReasoningPart } from "../../core/chat/chat-request.ts";

/** The data that a vendor requires back with one tool call. */
export interface SealedCall {
  readonly callId: string;
  /** The signature of the call itself. */
  readonly signature: string | undefined;
  /** The sealed reasoning between the previous call and this one. */
  readonly reasoning: readonly ReasoningPart[];
}

interface Keepers {
  readonly keepCalls: (calls: readonly SealedCall[]) => void;
  /** Only for vendors that seal texts, because it keeps a reference to each piece of text until the end. */
  readonly keepText?: ((text: string, signature: string) => void) | undefined;
}

/**
 * Passes the events through unchanged. At the end it gives seals to the keepers; calls only if the answer ends with
 * tool calls.
 */
// A class and not a generator: a generator's `return` would wait for the pending read.
export class CollectSeals implements AsyncIterableIterator<readonly ChatEvent[], undefined> {
  readonly #events: AsyncIterator<readonly ChatEvent[]>;
  readonly #keepers: Keepers;
  readonly #calls: SealedCall[] = [];
  #reasoning: ReasoningPart[] = [];
  /** Pieces of the open reasoning block. */
  #pieces: string[] = [];
  #seal: Pick<ReasoningPart, "signature" | "redacted"> | undefined;
  /** Pieces of the whole answer text. */
  readonly #said: string[] = [];
  #textSeal: string | undefined;

  constructor(events: ChatEvents, keepers: Keepers) {
    this.#events = events[Symbol.asyncIterator]();
    this.#keepers = keepers;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<readonly ChatEvent[], undefined>> {
    const { done, value } = await this.#events.next();
    if (done === true) return { done: true, value: undefined };
    for (const event of value) this.#note(event);
    return { done: false, value };
  }

  async return(): Promise<IteratorResult<readonly ChatEvent[], undefined>> {
    await this.#events.return?.();
    return { done: true, value: undefined };
  }

  #note(event: ChatEvent): void {
    switch (event.type) {
      case "reasoning-delta":
        this.#pieces.push(event.text);
        break;
      case "text-delta":
        if (this.#keepers.keepText !== undefined) this.#said.push(event.text);
        break;
      case "signature":
        this.#seal = event;
        break;
      case "block-end":
        this.#textSeal = event.signature ?? this.#textSeal;
        this.#endBlock();
        break;
      case "tool-call-start":
        this.#startCall(event.callId, event.signature);
        break;
      case "finish":
        if (event.reason === "tool-calls") this.#keepers.keepCalls(this.#calls);
        if (this.#textSeal !== undefined) {
          this.#keepers.keepText?.(this.#said.join(""), this.#textSeal);
        }
        break;
      default:
        break;
    }
  }

  #endBlock(): void {
    if (this.#seal !== undefined) {
      const { signature, redacted } = this.#seal;
      const text = this.#pieces.join("");
      this.#reasoning.push({ type: "reasoning", text, signature, redacted });
    }
    this.#seal = undefined;
    this.#pieces = [];
  }

  #startCall(callId: string, signature: string | undefined): void {
    const reasoning = this.#reasoning;
    this.#reasoning = [];
    if (signature !== undefined || reasoning.length > 0) {
      this.#calls.push({ callId, signature, reasoning });
    }
  }
}
