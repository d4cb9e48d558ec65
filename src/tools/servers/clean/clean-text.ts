import { storableText } from "../../../lib/text/storable-text.ts";

/** Escape sequences of terminals: those that end with a letter, those that carry a text, and short ones. */
const ESCAPES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]?|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-~]?/g;
const LINE_ENDS = /\r\n?/g;
/** All control characters but tab and line feed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** Characters that show a text in another order than it is read, and invisible ones that spell a hidden text. */
const HIDING = /[\u202a-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu;

/** Removes from another server's text whatever could deceive its reader or harm a terminal. Line breaks and tabs stay. */
export function cleanText(text: string): string {
  const plain = text
    .replace(LINE_ENDS, "\n")
    .replace(ESCAPES, "")
    .replace(CONTROLS, "")
    .replace(HIDING, "");
  return storableText(plain);
}

/** As `cleanText`, on one line of at most `maxLength` characters. */
export function cleanLine(text: string, maxLength: number): string {
  // Cleaning removes much more than this only from texts that are not worth reading.
  const start = text.slice(0, maxLength * 4);
  return cutText(cleanText(start).replace(/\s+/g, " ").trim(), maxLength);
}

/** Returns at most `maxLength` UTF-16 units, and no half of a character. */
export function cutText(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : storableText(text.slice(0, maxLength));
}
