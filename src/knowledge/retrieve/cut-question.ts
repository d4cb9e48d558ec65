/** Embedding models read little more. */
const MAX_CHARACTERS = 4_000;
/** What a cut leaves of a pair; engines refuse it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** Returns the text by which is searched: of a long one only its beginning and its end. */
export function cutQuestion(text: string): string {
  return cutToLength(text, MAX_CHARACTERS);
}

/** Returns the beginning and the end of a text that is longer. */
export function cutToLength(text: string, maxCharacters: number): string {
  const half = Math.floor(maxCharacters / 2);
  const cut =
    text.length <= maxCharacters ? text : `${text.slice(0, half)}\n${text.slice(1 - half)}`;
  return cut.replaceAll(LONE_SURROGATE, "");
}
