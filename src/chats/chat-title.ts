export const TITLE_MAX_CHARACTERS = 60;
/** Code units that are looked at for a title: one character may have many of them. */
const LOOKED_AT = 2_000;
/** Control characters, and those that turn the direction of the text around them. */
const UNPRINTABLE = /[\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
const LONE_SURROGATE = /\p{Cs}/gu;

const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" });

/**
 * Returns the first 60 characters of a text, on one line and without control characters. A character that is made of
 * several, such as a flag, is not cut.
 */
export function titleOf(text: string): string {
  const line = cleanTitle(text.slice(0, LOOKED_AT));
  let title = "";
  let left = TITLE_MAX_CHARACTERS;
  for (const { segment } of graphemes.segment(line)) {
    left -= countCharacters(segment);
    if (left < 0) break;
    title += segment;
  }
  return title.trimEnd();
}

/** Makes one line of a text: a control character or any white space becomes a space. */
export function cleanTitle(text: string): string {
  return text
    .replaceAll(UNPRINTABLE, " ")
    .replaceAll(LONE_SURROGATE, "\ufffd")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** Counts code points. */
export function countCharacters(text: string): number {
  return [...text].length;
}
