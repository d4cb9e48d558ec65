import type { JsonObject } from "../../../lib/json/json.ts";
import { rawElements, rawMember } from "../../../lib/json/raw-json.ts";

/** Digits of an integer that the JSON parser may have rounded. */
const LONG_NUMBER = /\d{16}/;

/** Returns the JSON text of the `input` of the call at this message and block. */
export type ReadInput = (message: number, block: number, input: JsonObject) => string;

/**
 * Creates a reader for the inputs of calls as text. When the body holds a number that the JSON parser may have rounded,
 * the text comes from the body; otherwise serialising the parsed value is equivalent and much cheaper.
 */
export function createInputReader(bodyText: string): ReadInput {
  if (!LONG_NUMBER.test(bodyText)) return (_message, _block, input) => JSON.stringify(input);
  let messages: readonly string[] | undefined;
  const blocks = new Map<number, readonly string[]>();

  const blocksOf = (message: number): readonly string[] => {
    messages ??= elementsOf(bodyText, "messages");
    const found = blocks.get(message) ?? elementsOf(messages[message] ?? "{}", "content");
    blocks.set(message, found);
    return found;
  };
  return (message, block, input) =>
    rawMember(blocksOf(message)[block] ?? "{}", "input") ?? JSON.stringify(input);
}

function elementsOf(objectText: string, name: string): readonly string[] {
  return rawElements(rawMember(objectText, name) ?? "[]");
}
