import type { JsonObject } from "../../../../lib/json/json.ts";
import { CustomInput } from "./custom-input.ts";
import {
  type ClientCall,
  encodeCustomCall,
  encodeFunctionCall,
  type ItemStatus,
  itemId,
} from "./encode-items.ts";
import { DeltaFrames } from "./event-frames.ts";
import { type ItemPlace, itemAdded, type StreamItem } from "./stream-item.ts";

/** A tool call in progress. */
export interface CallItem extends StreamItem {
  readonly begin: () => string;
  readonly delta: (text: string) => string;
}

export class FunctionCallItem implements CallItem {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #call: ClientCall;
  readonly #id: string;
  readonly #deltas: DeltaFrames;
  #text = "";

  constructor(place: ItemPlace, call: ClientCall) {
    const { frames, requestId, outputIndex } = place;
    this.#place = place;
    this.#call = call;
    this.outputIndex = outputIndex;
    this.#id = itemId("function_call", requestId, outputIndex);
    this.#deltas = new DeltaFrames(frames, "response.function_call_arguments.delta", {
      item_id: this.#id,
      output_index: outputIndex,
    });
  }

  begin(): string {
    return itemAdded(this.#place, this.encode("in_progress"));
  }

  delta(text: string): string {
    this.#text += text;
    return this.#deltas.write({ text });
  }

  end(): string {
    // Clients parse the arguments, and an empty string is not valid JSON.
    const missing = this.#text === "" ? this.delta("{}") : "";
    const done = {
      item_id: this.#id,
      output_index: this.outputIndex,
      name: this.#call.name,
      arguments: this.#text,
    };
    return missing + this.#place.frames.event("response.function_call_arguments.done", done);
  }

  encode(status: ItemStatus): JsonObject {
    return encodeFunctionCall(this.#id, status, this.#call, this.#text);
  }
}

/** A call of a custom tool, for which the model called a function with the free text as its only argument. */
export class CustomCallItem implements CallItem {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #call: ClientCall;
  readonly #id: string;
  readonly #input = new CustomInput();
  readonly #deltas: DeltaFrames;

  constructor(place: ItemPlace, call: ClientCall) {
    const { frames, requestId, outputIndex } = place;
    this.#place = place;
    this.#call = call;
    this.outputIndex = outputIndex;
    this.#id = itemId("custom_tool_call", requestId, outputIndex);
    this.#deltas = new DeltaFrames(frames, "response.custom_tool_call_input.delta", {
      item_id: this.#id,
      output_index: outputIndex,
    });
  }

  begin(): string {
    return itemAdded(this.#place, this.encode("in_progress"));
  }

  delta(text: string): string {
    return this.#write(this.#input.push(text));
  }

  end(): string {
    const last = this.#write(this.#input.end());
    const input = this.#input.text;
    const done = { item_id: this.#id, output_index: this.outputIndex, input };
    return last + this.#place.frames.event("response.custom_tool_call_input.done", done);
  }

  encode(status: ItemStatus): JsonObject {
    return encodeCustomCall(this.#id, status, this.#call, this.#input.text);
  }

  #write(piece: string): string {
    return piece === "" ? "" : this.#deltas.write({ text: piece });
  }
}
