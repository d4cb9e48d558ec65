import type { ChatEvent, DeltaEvent, SignatureEvent } from "../../core/chat/chat-event.ts";
import type { Usage } from "../../core/chat/usage.ts";
import type { JsonObject } from "../../lib/json/json.ts";

type TextKind = "text" | "reasoning" | "refusal";

const DELTA_TYPES = {
  text: "text-delta",
  reasoning: "reasoning-delta",
  refusal: "refusal-delta",
} as const satisfies Record<TextKind, DeltaEvent["type"]>;

/** Writes the events of one answer in the order that `ChatEvent` requires: it numbers, opens and closes blocks. */
export class EventWriter {
  #events: ChatEvent[] = [];
  #started = false;
  #ended = false;
  #nextBlock = 0;
  #text: { readonly kind: TextKind; readonly block: number } | undefined;
  readonly #calls = new Set<number>();

  /** True after `finish` or `error` was written. */
  get ended(): boolean {
    return this.#ended;
  }

  get started(): boolean {
    return this.#started;
  }

  /** The number of the next block. */
  get nextBlock(): number {
    return this.#nextBlock;
  }

  /** The number of the open text, reasoning or refusal block. */
  get textBlock(): number | undefined {
    return this.#text?.block;
  }

  get textKind(): TextKind | undefined {
    return this.#text?.kind;
  }

  /** The number of events written since the last `take`. */
  get length(): number {
    return this.#events.length;
  }

  /** Returns the events written since the last call. */
  take(): readonly ChatEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** @param inputTokens tokens of the prompt, for vendors that report them before the answer. */
  start(extra?: JsonObject | undefined, inputTokens?: number): void {
    this.#started = true;
    this.#events.push({ type: "start", extra, inputTokens });
  }

  delta(kind: TextKind, text: string, extra: JsonObject | undefined): void {
    if (this.#text?.kind !== kind) this.#openText(kind);
    const type = DELTA_TYPES[kind];
    const block = this.#nextBlock - 1;
    this.#events.push(extra === undefined ? { type, block, text } : { type, block, text, extra });
  }

  /** Adds several pieces to the open text block, as one event. */
  deltas(kind: TextKind, text: string, literals: readonly string[]): void {
    this.#events.push({ type: DELTA_TYPES[kind], block: this.#nextBlock - 1, text, literals });
  }

  /** Returns the number of the call's block. */
  startCall(callId: string, name: string, signature?: string): number {
    this.#closeText();
    const block = this.#nextBlock++;
    this.#calls.add(block);
    const call = { type: "tool-call-start", block, callId, name } as const;
    this.#events.push(signature === undefined ? call : { ...call, signature });
    return block;
  }

  /**
   * Closes a call that is known to be complete. A call left open is closed by the next event that cannot overlap it.
   */
  endCall(block: number): void {
    if (this.#calls.delete(block)) this.#events.push({ type: "block-end", block });
  }

  /** Adds a seal to the open reasoning block, or to a new one without text. */
  sign(seal: Pick<SignatureEvent, "signature" | "redacted">): void {
    if (this.#text?.kind !== "reasoning") this.#openText("reasoning");
    this.#events.push({ type: "signature", block: this.#nextBlock - 1, ...seal });
  }

  /** Opens a block that may stay empty, and closes what is open. */
  openText(kind: TextKind): void {
    this.#openText(kind);
  }

  /**
   * Closes the open text, reasoning or refusal block, so that later text starts a new block.
   * @param signature the vendor's seal over the text.
   */
  closeText(signature?: string): void {
    this.#closeText(signature);
  }

  get hasOpenCalls(): boolean {
    return this.#calls.size > 0;
  }

  isCallOpen(block: number): boolean {
    return this.#calls.has(block);
  }

  callDelta(block: number, text: string): void {
    this.#events.push({ type: "tool-call-delta", block, arguments: text });
  }

  /** Writes the event that ends the answer. After an `error`, open blocks get no end of their own. */
  end(event: Extract<ChatEvent, { type: "finish" | "error" }>): void {
    if (event.type === "finish") {
      this.#closeText();
      this.#closeCalls();
    }
    this.#text = undefined;
    this.#ended = true;
    const hasUsage = event.type === "finish" && event.usage !== undefined;
    this.#events.push(hasUsage ? { ...event, usage: withinTotals(event.usage) } : event);
  }

  #openText(kind: TextKind): void {
    this.#closeText();
    this.#closeCalls();
    const block = this.#nextBlock++;
    this.#text = { kind, block };
    this.#events.push({ type: "block-start", block, kind });
  }

  #closeText(signature?: string): void {
    if (this.#text === undefined) return;
    const { block } = this.#text;
    this.#events.push({ type: "block-end", block, ...(signature !== undefined && { signature }) });
    this.#text = undefined;
  }

  #closeCalls(): void {
    for (const block of this.#calls) this.#events.push({ type: "block-end", block });
    this.#calls.clear();
  }
}

/** Caps a part at its whole: some vendors report more cached or hidden tokens than the prompt or the answer has. */
function withinTotals(usage: Usage): Usage {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    ...usage,
    cachedTokens: atMost(cachedTokens, inputTokens),
    cacheWriteTokens: atMost(cacheWriteTokens, Math.max(0, inputTokens - (cachedTokens ?? 0))),
    reasoningTokens: atMost(reasoningTokens, outputTokens),
  };
}

function atMost(count: number | undefined, limit: number): number | undefined {
  return count === undefined ? undefined : Math.min(count, limit);
}
