import type { FoundPassage, SearchEvent } from "../../../../core/chat/chat-event.ts";
import type { JsonObject } from "../../../../lib/json/json.ts";
import { itemId } from "./encode-items.ts";
import { type ItemPlace, itemAdded } from "./stream-item.ts";

/** A mark in an answer, such as `[2]`, that cites a passage. */
const MARK = /\[(\d{1,3})\]/g;

/** Returns the item of a search that has ended. Its results are only for a client that asked for them. */
export function encodeFileSearch(
  { queries, found }: SearchEvent,
  { requestId, outputIndex }: Pick<ItemPlace, "requestId" | "outputIndex">,
  wantsResults: boolean,
): JsonObject {
  return {
    id: itemId("file_search_call", requestId, outputIndex),
    type: "file_search_call",
    status: "completed",
    queries,
    results: wantsResults ? found.map(encodeResult) : null,
  };
}

/** Returns all events of a search: it has ended by the time that the stream learns of it. */
export function fileSearchFrames(item: JsonObject, place: ItemPlace): string {
  const { frames, outputIndex } = place;
  const begun = { ...item, status: "in_progress", results: null };
  const members = { output_index: outputIndex, item_id: item["id"] };
  return (
    itemAdded(place, begun) +
    frames.event("response.file_search_call.in_progress", members) +
    frames.event("response.file_search_call.searching", members) +
    frames.event("response.file_search_call.completed", members) +
    frames.event("response.output_item.done", { output_index: outputIndex, item })
  );
}

/** Returns the citations in a text, in its order. `index` is the place of the mark, in UTF-16 units. */
export function citationsIn(text: string, found: readonly FoundPassage[]): JsonObject[] {
  if (found.length === 0) return [];
  const byIndex = new Map(found.map((passage) => [passage.index, passage]));
  return [...text.matchAll(MARK)].flatMap(({ 1: number, index }) => {
    const passage = byIndex.get(Number(number));
    if (passage === undefined) return [];
    const { fileId, filename } = passage;
    return [{ type: "file_citation", file_id: fileId, filename, index }];
  });
}

function encodeResult({ fileId, filename, attributes, text, score }: FoundPassage): JsonObject {
  return { file_id: fileId, filename, attributes, text, score };
}
