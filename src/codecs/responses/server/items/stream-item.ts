import type { JsonObject } from "../../../../lib/json.ts";
import type { ItemStatus } from "./encode-items.ts";
import type { EventFrames } from "./event-frames.ts";

/** Where an item of a stream stands, and what it writes with. */
export interface ItemPlace {
  readonly frames: EventFrames;
  readonly requestId: string;
  readonly outputIndex: number;
}

/** One item of a streamed answer. What its methods return are the events to be written. */
export interface StreamItem {
  readonly outputIndex: number;
  /** Everything about its content was said; whether that was all of it shows with what comes next. */
  readonly end: () => string;
  /** The item as it is in the end. */
  readonly encode: (status: ItemStatus) => JsonObject;
}

export function itemAdded({ frames, outputIndex }: ItemPlace, item: JsonObject): string {
  return frames.event("response.output_item.added", { output_index: outputIndex, item });
}
