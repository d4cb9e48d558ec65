const MAX_CHARACTERS = 255;
/** Control characters, the characters that reverse the direction of a text, and halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/gu;

/**
 * Returns the last level of a file's name without characters that could deceive a reader or a header; undefined when
 * nothing is left of it, or too much.
 */
export function cleanFilename(given: string): string | undefined {
  const lastLevel = Math.max(given.lastIndexOf("/"), given.lastIndexOf("\\")) + 1;
  const name = given.slice(lastLevel).replace(UNSAFE, "").trim();
  const isName = name !== "" && name !== "." && name !== ".." && name.length <= MAX_CHARACTERS;
  return isName ? name : undefined;
}
