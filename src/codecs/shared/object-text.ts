import { isJsonObject } from "../../lib/json.ts";

/**
 * The arguments of a call as the text of a JSON object, which is all that some vendors take; an object in the very
 * characters it came in. A model may have written something else in an earlier turn: it is wrapped, so that the
 * conversation can go on.
 */
export function objectText(text: string): string {
  if (text.trim() === "") return "{}";
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return "{}";
    return isJsonObject(value) ? text : `{"value":${text}}`;
  } catch {
    return JSON.stringify({ value: text });
  }
}
