import { isJsonObject } from "../../lib/json/json.ts";

/**
 * Returns the arguments of a call as the text of a JSON object, which some vendors require. An object keeps its exact
 * characters. A model may have written something else in an earlier turn; it is wrapped, so that the conversation can
 * continue.
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
