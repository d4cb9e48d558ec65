import type { JsonObject } from "../../lib/json.ts";
import { invalidValue } from "./check-request.ts";

const MAX_ITEMS = 100_000;
/** A list, its item, a list in that, and the items there: deeper lists are not checked item by item. */
const CHECKED_DEPTH = 4;

/**
 * Throws `invalid_value` when the lists of a request have more items than any conversation needs. Each item at fault
 * costs much more than its bytes, so that a body within the size limit could still use up the memory.
 */
export function checkItemCount(body: JsonObject): void {
  let count = 0;
  for (const [name, value] of Object.entries(body)) {
    count += countItems(value, CHECKED_DEPTH);
    if (count > MAX_ITEMS) throw invalidValue([name], `at most ${MAX_ITEMS} items in all`, value);
  }
}

/** Stops counting soon after there are too many. */
function countItems(value: unknown, depth: number): number {
  if (typeof value !== "object" || value === null || depth === 0) return 0;
  let count = Array.isArray(value) ? value.length : 0;
  for (const member of Array.isArray(value) ? value : Object.values(value)) {
    if (count > MAX_ITEMS) break;
    count += countItems(member, depth - 1);
  }
  return count;
}
