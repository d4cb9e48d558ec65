/** Embedding models read little more. */
const MAX_CHARACTERS = 4_000;
const HALF = MAX_CHARACTERS / 2;
/** What a cut leaves of a pair; engines refuse it. */
const LONE_SURROGATE = /\p{Cs}/gu;

/** Returns the text by which is searched: of a long one only its beginning and its end. */
export function cutQuestion(text: string): string {
  const cut =
    text.length <= MAX_CHARACTERS ? text : `${text.slice(0, HALF)}\n${text.slice(1 - HALF)}`;
  return cut.replaceAll(LONE_SURROGATE, "");
}
