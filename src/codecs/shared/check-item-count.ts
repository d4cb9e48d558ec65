import type { JsonObject } from "../../lib/json/json.ts";
import { invalidValue } from "./check-request.ts";

const MAX_ITEMS = 100_000;
/** Covers a list, its items, a list in an item, and the items of that list. Deeper lists are not counted. */
const CHECKED_DEPTH = 4;
/** Of the conversation: the content of a document, of a tool's result, in a message. Lists in a call's input count too. */
const CONVERSATION_DEPTH = 8;
const CONVERSATIONS: ReadonlySet<string> = new Set(["messages", "input"]);

/**
 * Throws `invalid_value` when the lists of a request have more items than any conversation needs. Each invalid item
 * costs much more memory than its bytes, so a body within the size limit could still exhaust the memory.
 */
export function checkItemCount(body: JsonObject): void {
  let count = 0;
  for (const [name, value] of Object.entries(body)) {
    count += countItems(value, CONVERSATIONS.has(name) ? CONVERSATION_DEPTH : CHECKED_DEPTH);
    if (count > MAX_ITEMS) throw invalidValue([name], `at most ${MAX_ITEMS} items in all`, value);
  }
}

/** Counts the items of all lists, and stops soon after the limit is exceeded. */
function countItems(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null || depth === 0) return 0;
  let count = Array.isArray(value) ? value.length : 0;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (count > MAX_ITEMS) break;
    count += countItems(member, depth - 1);
  }
  return count;
}
