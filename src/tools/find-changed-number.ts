import { keepLargeNumbers } from "../lib/json/exact-json.ts";
import type { JsonValue } from "../lib/json/json.ts";

/**
 * Returns the path of the first number that `JSON.parse` changed, because it is too large or has too many digits; undefined if
 * it changed no number. `parsed` is its result for `text`. Rounded fractions are allowed, because no object is named by one.
 */
export function findChangedNumber(text: string, parsed: JsonValue): readonly string[] | undefined {
  const kept = keepLargeNumbers(text);
  return kept === text ? undefined : findDifference(parsed, JSON.parse(kept), []);
}

/** `kept` has texts where `parsed` has numbers that may have changed. */
function findDifference(
  parsed: JsonValue | undefined,
  kept: JsonValue | undefined,
  path: readonly string[],
): readonly string[] | undefined {
  if (typeof parsed === "number") {
    return typeof kept === "string" && String(parsed) !== kept ? path : undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const keptValues = new Map<string, JsonValue | undefined>(Object.entries(kept ?? {}));
  for (const [name, value] of Object.entries(parsed)) {
    const found = findDifference(value, keptValues.get(name), [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}
