import type { JsonObject } from "../../../lib/json/json.ts";
import type { EventWriter } from "../../shared/event-writer.ts";
import { type ThinkPiece, ThinkTagSplitter } from "../../shared/think-tag-splitter.ts";
import { joinExtras } from "../extras.ts";
import { readContent } from "../read-content.ts";
import { ToolCallReader } from "./tool-call-reader.ts";
import type { WireDelta } from "./wire-chunk.ts";

type Kind = "text" | "reasoning" | "refusal";

/** With more text than this between two pieces, the call has ended. */
const MAX_HELD_CHARACTERS = 8_192;

interface Piece {
  readonly kind: Kind;
  readonly text: string;
  readonly extra: JsonObject | undefined;
}

/** Reads the deltas of one answer: reasoning, text, refusals, tool calls, and the extras of their tokens. */
export class DeltaReader {
  readonly #writer: EventWriter;
  readonly #calls: ToolCallReader;
  readonly #thinkTags = new ThinkTagSplitter();
  #isPastThinking = false;
  /** Extras of tokens whose text has not arrived yet. */
  #extras: JsonObject[] = [];
  /** Text that came amid the arguments of a call: engines that decode several tokens at once mix them. */
  #held: Piece[] = [];
  #heldText = "";

  constructor(writer: EventWriter) {
    this.#writer = writer;
    this.#calls = new ToolCallReader(writer);
  }

  /** True once all further content is text: tags are no longer searched for. */
  get isPastThinking(): boolean {
    return this.#isPastThinking;
  }

  get hasCalls(): boolean {
    return this.#calls.any;
  }

  /** @param seed distinguishes this answer from others: the vendor's answer id. */
  read(delta: WireDelta, seed: string): void {
    const { content, refusal, tool_calls } = delta;
    const hasFragments = Array.isArray(tool_calls) && tool_calls.length > 0;
    // The rest of a call belongs before the text beside it, which ends the call.
    const calls = hasFragments ? this.#calls.continue(tool_calls, seed) : undefined;
    if (this.#held.length > 0 && !this.#calls.isWithinCall(this.#heldText)) this.#writeHeld();
    const thought = readThought(delta);
    if (thought !== "") this.#writeThought(thought);
    for (const { kind, text } of readContent(content)) {
      if (kind === "reasoning") this.#writeThought(text);
      else this.#writeContent(text);
    }
    if (typeof refusal === "string" && refusal !== "") this.#write("refusal", refusal);
    if (calls !== undefined) {
      this.#flushThinking();
      this.#calls.read(calls, seed);
      // The events of a call have no place for extras.
      this.#extras = [];
    } else this.#flushExtras();
  }

  /** Keeps extras of tokens whose text comes in this or a later delta. */
  keepExtras(extras: JsonObject): void {
    this.#extras.push(extras);
  }

  /** Ends the answer. Returns the extras that had no text to be attached to. */
  end(): JsonObject | undefined {
    this.#calls.end();
    this.#flushThinking();
    this.#writeHeld();
    this.#flushExtras();
    return joinExtras(this.#extras);
  }

  /** Writes reasoning. An engine that sends reasoning separately does not write tags as well. */
  #writeThought(text: string): void {
    this.#flushThinking();
    this.#isPastThinking = true;
    this.#write("reasoning", text);
  }

  #writeContent(text: string): void {
    if (this.#isPastThinking) this.#write("text", text);
    else for (const piece of this.#thinkTags.push(text)) this.#writePiece(piece);
  }

  #flushThinking(): void {
    if (this.#isPastThinking) return;
    for (const piece of this.#thinkTags.flush()) this.#writePiece(piece);
  }

  #writePiece({ kind, text }: ThinkPiece): void {
    if (kind === "text") this.#isPastThinking = true;
    this.#write(kind, text);
  }

  #write(kind: Kind, text: string): void {
    const extra = this.#extras.length > 0 ? this.#takeExtras() : undefined;
    if (!this.#writer.hasOpenCalls || !this.#calls.isWithinCall(this.#heldText + text)) {
      if (this.#held.length > 0) this.#writeHeld();
      this.#writer.delta(kind, text, extra);
      return;
    }
    this.#held.push({ kind, text, extra });
    this.#heldText += text;
    if (this.#heldText.length > MAX_HELD_CHARACTERS) this.#writeHeld();
  }

  #takeExtras(): JsonObject | undefined {
    const extra = joinExtras(this.#extras);
    this.#extras = [];
    return extra;
  }

  #writeHeld(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldText = "";
    for (const { kind, text, extra } of held) this.#writer.delta(kind, text, extra);
  }

  /** Writes extras of tokens without text of their own, such as half a character. */
  #flushExtras(): void {
    const { textKind } = this.#writer;
    if (this.#extras.length > 0 && textKind !== undefined) this.#write(textKind, "");
  }
}

/** Returns the reasoning of a delta, under the newer or the older name. */
export function readThought({ reasoning_content, reasoning }: WireDelta): string {
  const thought = reasoning_content || reasoning;
  return typeof thought === "string" ? thought : "";
}
