import type { ChatEvent, FinishEvent, FinishReason } from "../../core/chat/chat-event.ts";
import type { AssistantPart, ToolCallPart } from "../../core/chat/chat-request.ts";
import type { ServiceError } from "../../core/service-error.ts";

type TextKind = "text" | "reasoning" | "refusal";
type TextDraft = { kind: TextKind; text: string; signature?: string; redacted?: string };
type CallDraft = { -readonly [Name in keyof ToolCallPart]: ToolCallPart[Name] };
type Draft = TextDraft | CallDraft;
type TurnEnd = FinishEvent | { readonly type: "error"; readonly error: ServiceError };

/** Some engines report calls as an ordinary stop. */
const TOOL_REASONS: ReadonlySet<FinishReason> = new Set(["tool-calls", "stop"]);
/** What stands between the texts of two turns. */
const BETWEEN_TURNS = "\n\n";

/**
 * Makes one answer of the turns of a model. Passes on what the client sees, with blocks numbered over all turns: the
 * texts, the reasoning, and the calls if the tools are the client's. Otherwise the calls are collected for the gateway.
 * It also keeps each turn as it must be sent back to the model, with its seals.
 */
export class TurnReader {
  readonly #hasClientTools: boolean;
  /** Pieces of the answer's text so far. */
  readonly #said: string[] = [];
  #hasText = false;
  #hasStarted = false;
  #nextBlock = 0;
  /** The number in the answer, by the number in the turn. */
  #numbers = new Map<number, number>();
  #drafts = new Map<number, Draft>();
  /** A text block that is passed on with its first visible text, because it must be set apart from the turn before. */
  #heldBlock: number | undefined;
  #isApart = true;
  #end: TurnEnd | undefined;

  /** @param hasClientTools whether the client runs the tools that are called, instead of the gateway. */
  constructor(hasClientTools: boolean) {
    this.#hasClientTools = hasClientTools;
  }

  /** The text of the answer so far. */
  get text(): string {
    return this.#said.join("");
  }

  /**
   * How the turn has ended, as the client sees it; undefined until then. The calls of the gateway's tools are no reason
   * to stop that a client could act upon.
   */
  get end(): TurnEnd | undefined {
    const end = this.#end;
    if (end?.type !== "finish" || end.reason !== "tool-calls" || this.#hasClientTools) return end;
    return { ...end, reason: "stop" };
  }

  beginTurn(): void {
    this.#numbers = new Map();
    this.#drafts = new Map();
    this.#heldBlock = undefined;
    this.#isApart = !this.#hasText;
    this.#end = undefined;
  }

  /** Returns the events for the client; the turn's end is not among them. */
  read(batch: readonly ChatEvent[]): ChatEvent[] {
    const passed: ChatEvent[] = [];
    for (const event of batch) this.#take(event, passed);
    return passed;
  }

  /** The calls of this turn that the gateway runs; none when the turn was cut. */
  callsToRun(): readonly ToolCallPart[] {
    if (this.#hasClientTools || this.#end?.type !== "finish") return [];
    if (!TOOL_REASONS.has(this.#end.reason)) return [];
    return [...this.#drafts.values()].filter((draft) => "callId" in draft);
  }

  /** The turn as the model must get it back. */
  parts(): readonly AssistantPart[] {
    return [...this.#drafts.values()].flatMap(toPart);
  }

  #take(event: ChatEvent, passed: ChatEvent[]): void {
    switch (event.type) {
      case "start":
        if (!this.#hasStarted) passed.push(event);
        this.#hasStarted = true;
        break;
      case "block-start":
        this.#drafts.set(event.block, { kind: event.kind, text: "" });
        if (event.kind === "text" && !this.#isApart) this.#heldBlock = event.block;
        else passed.push({ ...event, block: this.#number(event.block) });
        break;
      case "tool-call-start": {
        const { callId, name, signature } = event;
        this.#drafts.set(event.block, {
          type: "tool-call",
          callId,
          name,
          arguments: "",
          signature,
        });
        if (this.#hasClientTools) passed.push({ ...event, block: this.#number(event.block) });
        break;
      }
      case "text-delta":
      case "reasoning-delta":
      case "refusal-delta":
      case "tool-call-delta":
      case "signature":
      case "block-end":
        this.#grow(event);
        this.#pass(event, passed);
        break;
      case "finish":
      case "error":
        this.#end = event;
        break;
      default:
        passed.push(event);
    }
  }

  #pass(event: Extract<ChatEvent, { readonly block: number }>, passed: ChatEvent[]): void {
    if (event.type === "text-delta") {
      if (event.block === this.#heldBlock && !this.#release(event.block, event.text, passed))
        return;
      this.#hasText ||= event.text.trim() !== "";
      this.#said.push(event.text);
    }
    const block = this.#numbers.get(event.block);
    if (block !== undefined) passed.push({ ...event, block });
  }

  /** Opens a held block at its first visible text. Returns whether it is open. */
  #release(held: number, text: string, passed: ChatEvent[]): boolean {
    if (text.trim() === "") return false;
    this.#heldBlock = undefined;
    this.#isApart = true;
    const block = this.#number(held);
    this.#said.push(BETWEEN_TURNS);
    passed.push({ type: "block-start", block, kind: "text" });
    passed.push({ type: "text-delta", block, text: BETWEEN_TURNS });
    return true;
  }

  #number(block: number): number {
    const number = this.#nextBlock;
    this.#nextBlock += 1;
    this.#numbers.set(block, number);
    return number;
  }

  #grow(event: Extract<ChatEvent, { readonly block: number }>): void {
    const draft = this.#drafts.get(event.block);
    if (draft === undefined) return;
    if (event.type === "tool-call-delta") {
      if ("callId" in draft) draft.arguments += event.arguments;
    } else if ("kind" in draft) {
      if ("text" in event) draft.text += event.text;
      if ("signature" in event && event.signature !== undefined) draft.signature = event.signature;
      if ("redacted" in event && event.redacted !== undefined) draft.redacted = event.redacted;
    }
  }
}

/** Vendors refuse empty texts. */
function toPart(draft: Draft): readonly AssistantPart[] {
  if ("callId" in draft) return [draft];
  const { kind, text, signature, redacted } = draft;
  if (text.trim() === "" && signature === undefined && redacted === undefined) return [];
  switch (kind) {
    case "reasoning":
      return [{ type: "reasoning", text, signature, redacted }];
    case "refusal":
      return [{ type: "refusal", text }];
    case "text":
      return [{ type: "text", text, signature }];
  }
}
