import { endOfString } from "./json-strings.ts";

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

// Extracts parts of a JSON text verbatim: `JSON.parse` would round integers beyond 2^53. The text must be valid JSON,
// that is, `JSON.parse` has accepted it.

/**
 * Returns the text of a member's value; undefined when the object has no such member. Of equal names the last counts.
 */
export function rawMember(objectText: string, name: string): string | undefined {
  let found: string | undefined;
  for (const [key, value] of rawEntries(objectText)) if (key === name) found = value;
  return found;
}

/** Returns the texts of an array's elements. */
export function rawElements(arrayText: string): string[] {
  return Array.from(rawEntries(arrayText), ([, value]) => value);
}

function* rawEntries(text: string): Generator<[key: string | undefined, value: string]> {
  const open = skipSpace(text, 0);
  const isObject = text.charCodeAt(open) === OPEN_BRACE;
  let index = skipSpace(text, open + 1);
  while (index < text.length && !isClose(text.charCodeAt(index))) {
    let key: string | undefined;
    if (isObject) {
      const end = endOfString(text, index);
      key = JSON.parse(text.slice(index, end));
      index = skipSpace(text, skipSpace(text, end) + 1);
    }
    const end = endOfValue(text, index);
    yield [key, text.slice(index, end)];
    const comma = skipSpace(text, end);
    index = text[comma] === "," ? skipSpace(text, comma + 1) : comma;
  }
}

function isClose(code: number): boolean {
  return code === CLOSE_BRACE || code === CLOSE_BRACKET;
}

function skipSpace(text: string, start: number): number {
  let index = start;
  while (index < text.length && text.charCodeAt(index) <= 0x20) index++;
  return index;
}

/** Returns the index just past the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return endOfString(text, start);
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return endOfContainer(text, start);
  let index = start;
  while (index < text.length && !/[\s,\]}]/.test(text.charAt(index))) index++;
  return index;
}

function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let index = start; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === QUOTE) index = endOfString(text, index) - 1;
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth++;
    else if (isClose(code)) {
      depth--;
      if (depth === 0) return index + 1;
    }
  }
  return text.length;
}
