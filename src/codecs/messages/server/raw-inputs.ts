import type { JsonObject } from "../../../lib/json.ts";
import { rawElements, rawMember } from "../../../lib/raw-json.ts";

/** Digits of an integer that the parser may have rounded. */
const LONG_NUMBER = /\d{16}/;

/** The JSON text of the `input` of the call that stands at this message and block. */
export type ReadInput = (message: number, block: number, input: JsonObject) => string;

/**
 * Inputs of calls as text. Where the body holds a number that the parser may have rounded, the text is taken from the
 * body itself; else writing what was parsed is as good and much cheaper.
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
