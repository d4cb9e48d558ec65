import type { JsonObject } from "../../../../lib/json/json.ts";
import type { ItemStatus } from "./encode-items.ts";
import type { EventFrames } from "./event-frames.ts";

/** The position of a streamed item, and the writer of its events. */
export interface ItemPlace {
  readonly frames: EventFrames;
  readonly requestId: string;
  readonly outputIndex: number;
}

/** One item of a streamed answer. Its methods return the events to be written. */
export interface StreamItem {
  readonly outputIndex: number;
  /** Ends the content. The event after it determines whether the item is complete. */
  readonly end: () => string;
  /** Returns the final item. */
  readonly encode: (status: ItemStatus) => JsonObject;
}

export function itemAdded({ frames, outputIndex }: ItemPlace, item: JsonObject): string {
  return frames.event("response.output_item.added", { output_index: outputIndex, item });
}
