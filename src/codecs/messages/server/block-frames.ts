import type {
  BlockStartEvent,
  DeltaEvent,
  SignatureEvent,
  ToolCallStartEvent,
} from "../../../core/chat/chat-event.ts";
import { frameLiterals } from "../../../core/chat/frame-literals.ts";
import type { JsonObject } from "../../../lib/json/json.ts";
import { toolUseHead } from "./encode-message.ts";
import { eventFrame, frameHead } from "./event-frame.ts";
import { WaitingCalls } from "./waiting-calls.ts";

type TextKind = BlockStartEvent["kind"];

interface Thought {
  hasText: boolean;
  signature: string | undefined;
  redacted: string | undefined;
}

const DELTA_HEAD = `${frameHead("content_block_delta")}{"type":"content_block_delta","index":`;
const TAIL = "}}\n\n";

/**
 * Writes the blocks of one message, numbered without gaps, with one open at a time. A block is opened by its first
 * content, since the format has no empty blocks. A call that starts while another is being written waits.
 *
 * The deltas of a block differ only in their text, so the head of a delta is built once per block.
 */
export class BlockFrames {
  readonly #seal: string;
  readonly #omitsThinking: boolean;
  #nextIndex = 0;
  /** The text before the content of a delta; undefined when no block is open. */
  #deltaHead: string | undefined;
  #kind: TextKind | undefined;
  #thought: Thought | undefined;
  /** The canonical block number of the call that is being written. */
  #writtenCall: number | undefined;
  readonly #waiting = new WaitingCalls();
  #refuses = false;

  /** @param seal the seal for reasoning without a vendor's seal. */
  constructor(seal: string, omitsThinking: boolean) {
    this.#seal = seal;
    this.#omitsThinking = omitsThinking;
  }

  /** True after any refusal text was written. */
  get refuses(): boolean {
    return this.#refuses;
  }

  start(kind: TextKind): void {
    this.#kind = kind;
    if (kind === "reasoning") {
      this.#thought = { hasText: false, signature: undefined, redacted: undefined };
    }
  }

  /** Writes a piece of text or of a refusal. */
  text(delta: DeltaEvent): string {
    if (delta.text === "") return "";
    const opening = this.#deltaHead === undefined ? this.#openText() : "";
    return opening + frameLiterals(delta, this.#deltaHead ?? "", TAIL);
  }

  thought(delta: DeltaEvent): string {
    if (delta.text === "" || this.#thought === undefined) return "";
    this.#thought.hasText = true;
    const opening = this.#deltaHead === undefined ? this.#openThinking() : "";
    return this.#omitsThinking
      ? opening
      : opening + frameLiterals(delta, this.#deltaHead ?? "", TAIL);
  }

  sign({ signature, redacted }: SignatureEvent): void {
    if (this.#thought === undefined) return;
    this.#thought.signature = signature || this.#thought.signature;
    this.#thought.redacted = redacted ?? this.#thought.redacted;
  }

  startCall({ block, callId, name }: ToolCallStartEvent): string {
    if (this.#writtenCall === undefined) return this.#openCall(block, callId, name);
    this.#waiting.add(block, callId, name);
    return "";
  }

  callDelta(block: number, text: string): string {
    if (block === this.#writtenCall) return this.#argumentsDelta(text);
    this.#waiting.append(block, text);
    return "";
  }

  end(block: number): string {
    if (this.#writtenCall === undefined) return this.#endText();
    if (block === this.#writtenCall) return this.#endCall();
    this.#waiting.end(block);
    return "";
  }

  /** Ends every open block at the end of the message. */
  endAll(): string {
    let frames = this.#endText();
    while (this.#writtenCall !== undefined) frames += this.#endCall();
    return frames;
  }

  #openText(): string {
    if (this.#kind === "refusal") this.#refuses = true;
    return this.#open({ type: "text", text: "", citations: null }, '{"type":"text_delta","text":');
  }

  #openThinking(): string {
    const block = { type: "thinking", thinking: "", signature: "" };
    return this.#open(block, '{"type":"thinking_delta","thinking":');
  }

  #openCall(block: number, callId: string, name: string): string {
    this.#writtenCall = block;
    const call = { ...toolUseHead(callId, name), input: {} };
    return this.#open(call, '{"type":"input_json_delta","partial_json":');
  }

  #argumentsDelta(text: string): string {
    return text === "" ? "" : this.#deltaHead + JSON.stringify(text) + TAIL;
  }

  /** Ends the current call, then writes the waiting calls as far as they have arrived. */
  #endCall(): string {
    let frames = this.#close();
    this.#writtenCall = undefined;
    for (let next = this.#waiting.next(); next !== undefined; next = this.#waiting.next()) {
      frames += this.#openCall(next.block, next.callId, next.name);
      frames += this.#argumentsDelta(next.arguments);
      if (!next.hasEnded) break;
      frames += this.#close();
      this.#writtenCall = undefined;
    }
    return frames;
  }

  #endText(): string {
    const thought = this.#thought;
    this.#kind = undefined;
    this.#thought = undefined;
    if (thought === undefined) return this.#close();
    return this.#endThought(thought);
  }

  /** The seal is written once, at the end: in clients, a later seal replaces an earlier one. */
  #endThought({ hasText, signature, redacted }: Thought): string {
    let frames = "";
    if (hasText || signature !== undefined) {
      if (this.#deltaHead === undefined) frames += this.#openThinking();
      const delta = { type: "signature_delta", signature: signature ?? this.#seal };
      frames += eventFrame({ type: "content_block_delta", index: this.#nextIndex - 1, delta });
      frames += this.#close();
    }
    if (redacted === undefined) return frames;
    return frames + this.#open({ type: "redacted_thinking", data: redacted }, "") + this.#close();
  }

  #open(block: JsonObject, delta: string): string {
    const index = this.#nextIndex++;
    this.#deltaHead = `${DELTA_HEAD}${index},"delta":${delta}`;
    return eventFrame({ type: "content_block_start", index, content_block: block });
  }

  #close(): string {
    if (this.#deltaHead === undefined) return "";
    this.#deltaHead = undefined;
    return eventFrame({ type: "content_block_stop", index: this.#nextIndex - 1 });
  }
}
