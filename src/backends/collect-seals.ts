import type { ChatEvent, ChatEvents } from "../core/chat-event.ts";
import type { ReasoningPart } from "../core/chat-request.ts";

/** What a vendor wants back with one call. */
export interface SealedCall {
  readonly callId: string;
  /** The seal on the call itself. */
  readonly signature: string | undefined;
  /** The sealed thoughts before this call and after the one before it. */
  readonly reasoning: readonly ReasoningPart[];
}

/** The same events; once they end with calls, those that need seals are given to `keepAll`. */
// A class and not a generator: a generator's `return` would wait for the read that is pending.
export class CollectSeals implements AsyncIterableIterator<readonly ChatEvent[], undefined> {
  readonly #events: AsyncIterator<readonly ChatEvent[]>;
  readonly #keepAll: (calls: readonly SealedCall[]) => void;
  readonly #calls: SealedCall[] = [];
  #reasoning: ReasoningPart[] = [];
  /** Pieces of the reasoning block that is open. */
  #pieces: string[] = [];
  #seal: Pick<ReasoningPart, "signature" | "redacted"> | undefined;

  constructor(events: ChatEvents, keepAll: (calls: readonly SealedCall[]) => void) {
    this.#events = events[Symbol.asyncIterator]();
    this.#keepAll = keepAll;
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
      case "signature":
        this.#seal = event;
        break;
      case "block-end":
        this.#endBlock();
        break;
      case "tool-call-start":
        this.#startCall(event.callId, event.signature);
        break;
      case "finish":
        if (event.reason === "tool-calls") this.#keepAll(this.#calls);
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
