import type { DeltaEvent, SignatureEvent } from "../../../../core/chat/chat-event.ts";
import type { JsonObject } from "../../../../lib/json/json.ts";
import type { ResponsesForm } from "../responses-form.ts";
import { encodeReasoning, encodeSummary, itemId } from "./encode-items.ts";
import { DeltaFrames } from "./event-frames.ts";
import { type ItemPlace, itemAdded, type StreamItem } from "./stream-item.ts";

/** Reasoning in progress, written as a summary, which all clients of this format display. */
export class ReasoningItem implements StreamItem {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #form: ResponsesForm;
  readonly #id: string;
  readonly #part: JsonObject;
  #deltas: DeltaFrames | undefined;
  #text = "";
  #signature: string | undefined;
  #redacted: string | undefined;

  constructor(place: ItemPlace, form: ResponsesForm) {
    const { requestId, outputIndex } = place;
    this.#place = place;
    this.#form = form;
    this.outputIndex = outputIndex;
    this.#id = itemId("reasoning", requestId, outputIndex);
    this.#part = { item_id: this.#id, output_index: outputIndex, summary_index: 0 };
  }

  begin(): string {
    return itemAdded(this.#place, encodeReasoning(this.#id, { text: "" }, undefined));
  }

  delta(delta: DeltaEvent): string {
    if (delta.text === "") return "";
    this.#text += delta.text;
    if (this.#deltas !== undefined) return this.#deltas.write(delta);
    const { frames } = this.#place;
    this.#deltas = new DeltaFrames(frames, "response.reasoning_summary_text.delta", this.#part);
    const added = { ...this.#part, part: encodeSummary("") };
    return frames.event("response.reasoning_summary_part.added", added) + this.#deltas.write(delta);
  }

  seal({ signature, redacted }: Pick<SignatureEvent, "signature" | "redacted">): void {
    this.#signature = signature ?? this.#signature;
    this.#redacted = redacted ?? this.#redacted;
  }

  end(): string {
    // Encrypted reasoning has no text.
    if (this.#deltas === undefined) return "";
    const { frames } = this.#place;
    const text = this.#text;
    const done = { ...this.#part, part: encodeSummary(text) };
    return (
      frames.event("response.reasoning_summary_text.done", { ...this.#part, text }) +
      frames.event("response.reasoning_summary_part.done", done)
    );
  }

  encode(): JsonObject {
    const thought = { text: this.#text, signature: this.#signature, redacted: this.#redacted };
    return encodeReasoning(this.#id, thought, this.#form);
  }
}
