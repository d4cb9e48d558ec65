import type { DeltaEvent, FoundPassage } from "../../../../core/chat/chat-event.ts";
import type { JsonObject } from "../../../../lib/json/json.ts";
import { encodeMessage, encodeRefusalPart, encodeTextPart, itemId } from "./encode-items.ts";
import { encodeLogprobs } from "./encode-logprobs.ts";
import { DeltaFrames } from "./event-frames.ts";
import { citationsIn } from "./file-search-item.ts";
import { type ItemPlace, itemAdded, type StreamItem } from "./stream-item.ts";

type PartKind = "text" | "refusal";

interface OpenPart {
  readonly kind: PartKind;
  readonly place: JsonObject;
  readonly deltas: DeltaFrames;
  readonly logprobs: JsonObject[];
  text: string;
}

/** A message in progress: its parts come one after another. */
export class MessageItem implements StreamItem {
  readonly outputIndex: number;
  readonly #place: ItemPlace;
  readonly #id: string;
  readonly #content: JsonObject[] = [];
  #part: OpenPart | undefined;

  readonly #found: readonly FoundPassage[];

  /** @param found the passages that the text may cite. */
  constructor(place: ItemPlace, found: readonly FoundPassage[]) {
    this.#place = place;
    this.#found = found;
    this.outputIndex = place.outputIndex;
    this.#id = itemId("message", place.requestId, place.outputIndex);
  }

  get hasOpenPart(): boolean {
    return this.#part !== undefined;
  }

  begin(): string {
    return itemAdded(this.#place, encodeMessage(this.#id, "in_progress", []));
  }

  beginPart(kind: PartKind): string {
    const { frames, outputIndex } = this.#place;
    const place = {
      item_id: this.#id,
      output_index: outputIndex,
      content_index: this.#content.length,
    };
    const deltas =
      kind === "text"
        ? new DeltaFrames(frames, "response.output_text.delta", place, { logprobs: [] })
        : new DeltaFrames(frames, "response.refusal.delta", place);
    this.#part = { kind, place, deltas, logprobs: [], text: "" };
    const part = encodePart(this.#part);
    return frames.event("response.content_part.added", { ...place, part });
  }

  delta(delta: DeltaEvent): string {
    const { text, extra } = delta;
    const part = this.#part;
    if (part === undefined) return "";
    part.text += text;
    if (extra === undefined) return part.deltas.write(delta);
    const logprobs = part.kind === "text" ? encodeLogprobs(extra) : [];
    if (logprobs.length === 0) return part.deltas.write(delta);
    part.logprobs.push(...logprobs);
    const members = { ...part.place, delta: text, logprobs };
    return this.#place.frames.event("response.output_text.delta", members);
  }

  end(): string {
    const part = this.#part;
    if (part === undefined) return "";
    const { frames } = this.#place;
    const citations = part.kind === "text" ? citationsIn(part.text, this.#found) : [];
    const encoded = encodePart(part, citations);
    this.#content.push(encoded);
    this.#part = undefined;
    const { kind, place, text, logprobs } = part;
    const done =
      kind === "text"
        ? this.#annotate(place, citations) +
          frames.event("response.output_text.done", { ...place, text, logprobs })
        : frames.event("response.refusal.done", { ...place, refusal: text });
    return done + frames.event("response.content_part.done", { ...place, part: encoded });
  }

  #annotate(place: JsonObject, citations: readonly JsonObject[]): string {
    const { frames } = this.#place;
    const events = citations.map((annotation, index) => {
      const members = { ...place, annotation_index: index, annotation };
      return frames.event("response.output_text.annotation.added", members);
    });
    return events.join("");
  }

  encode(status: Parameters<StreamItem["encode"]>[0]): JsonObject {
    return encodeMessage(this.#id, status, this.#content);
  }
}

function encodePart(
  { kind, text, logprobs }: OpenPart,
  citations: readonly JsonObject[] = [],
): JsonObject {
  return kind === "text" ? encodeTextPart(text, logprobs, citations) : encodeRefusalPart(text);
}
