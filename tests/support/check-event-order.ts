import type { ChatEvent } from "../../src/core/chat/chat-event.ts";

type TextKind = "text" | "reasoning" | "refusal";

/** Throws at the first event that breaks the order which `ChatEvent` promises, and at an answer that does not end. */
export function checkEventOrder(events: readonly ChatEvent[]): void {
  const order = new EventOrder();
  for (const [index, event] of events.entries()) {
    const fault = order.take(event);
    if (fault !== undefined) throw new Error(`event ${index} (${event.type}): ${fault}`);
  }
  if (!order.ended) throw new Error(`${events.length} events without finish or error`);
}

class EventOrder {
  ended = false;
  #started = false;
  #nextBlock = 0;
  #text: { readonly block: number; readonly kind: TextKind } | undefined;
  readonly #calls = new Set<number>();
  readonly #callIds = new Set<string>();

  /** What is wrong with the event; undefined when it may come here. */
  take(event: ChatEvent): string | undefined {
    if (this.ended) return "comes after the end";
    if (event.type === "error") return this.#end(undefined);
    if (event.type === "start") return this.#start();
    if (!this.#started) return "comes before start";
    return this.#takeInside(event);
  }

  #start(): string | undefined {
    if (this.#started) return "is the second start";
    this.#started = true;
    return undefined;
  }

  #takeInside(event: Exclude<ChatEvent, { type: "start" | "error" }>): string | undefined {
    switch (event.type) {
      case "block-start":
        return this.#startText(event);
      case "tool-call-start":
        return this.#startCall(event);
      case "text-delta":
      case "reasoning-delta":
      case "refusal-delta":
        return this.#isOpen(event.block, event.type.slice(0, -"-delta".length));
      case "signature":
        return this.#isOpen(event.block, "reasoning");
      case "tool-call-delta":
        return this.#calls.has(event.block) ? undefined : `block ${event.block} is not open`;
      case "block-end":
        return this.#endBlock(event.block);
      case "source":
        return undefined;
      case "search":
      case "tool-run":
        return this.#isAnyOpen() ? "stands inside a block" : undefined;
      case "finish":
        return this.#end(this.#isAnyOpen() ? "leaves blocks open" : undefined);
    }
  }

  #startText({ block, kind }: Extract<ChatEvent, { type: "block-start" }>): string | undefined {
    if (this.#isAnyOpen()) return "overlaps another block";
    this.#text = { block, kind };
    return this.#takeNumber(block);
  }

  #startCall(event: Extract<ChatEvent, { type: "tool-call-start" }>): string | undefined {
    const { block, callId, name } = event;
    if (this.#text !== undefined) return "overlaps a text";
    if (this.#callIds.has(callId)) return `has the id ${callId} a second time`;
    if (callId === "" || name === "") return "has no id or no name";
    this.#callIds.add(callId);
    this.#calls.add(block);
    return this.#takeNumber(block);
  }

  #endBlock(block: number): string | undefined {
    if (this.#text?.block === block) this.#text = undefined;
    else if (!this.#calls.delete(block)) return `block ${block} is not open`;
    return undefined;
  }

  #end(fault: string | undefined): string | undefined {
    this.ended = true;
    return fault;
  }

  #isAnyOpen(): boolean {
    return this.#text !== undefined || this.#calls.size > 0;
  }

  #takeNumber(block: number): string | undefined {
    return block === this.#nextBlock++ ? undefined : `block ${block} is out of turn`;
  }

  #isOpen(block: number, kind: string): string | undefined {
    const isOpen = this.#text?.block === block && this.#text.kind === kind;
    return isOpen ? undefined : `no ${kind} block ${block} is open`;
  }
}
