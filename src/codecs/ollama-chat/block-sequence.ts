import type { ChatEvent } from "../../core/chat-event.ts";
import type { JsonObject } from "../../lib/json.ts";

type TextKind = "text" | "reasoning";

/** Numbers the blocks of one answer and keeps at most one of them open, as the order of `ChatEvent` asks. */
export class BlockSequence {
  #next = 0;
  #open: TextKind | undefined;

  /** The number of the block that comes next. */
  get next(): number {
    return this.#next;
  }

  /** The kind of the open block. */
  get open(): TextKind | undefined {
    return this.#open;
  }

  addText(events: ChatEvent[], kind: TextKind, text: string, extra: JsonObject | undefined): void {
    if (this.#open !== kind) {
      this.close(events);
      events.push({ type: "block-start", block: this.#next++, kind });
      this.#open = kind;
    }
    const type = kind === "text" ? "text-delta" : "reasoning-delta";
    const block = this.#next - 1;
    events.push(extra === undefined ? { type, block, text } : { type, block, text, extra });
  }

  /** Adds a whole call. */
  addToolCall(events: ChatEvent[], call: { id: string; name: string; arguments: string }): void {
    this.close(events);
    const block = this.#next++;
    events.push(
      { type: "tool-call-start", block, callId: call.id, name: call.name },
      { type: "tool-call-delta", block, arguments: call.arguments },
      { type: "block-end", block },
    );
  }

  close(events: ChatEvent[]): void {
    if (this.#open === undefined) return;
    events.push({ type: "block-end", block: this.#next - 1 });
    this.#open = undefined;
  }
}
