/** PostgreSQL stores no U+0000, also within JSON, and UTF-8 has no halves of surrogate pairs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const UNSTORABLE = /\u0000|\p{Cs}/u;
const ALL_UNSTORABLE = new RegExp(UNSTORABLE, "gu");

/** Whether the database can store the text. */
export function isStorableText(text: string): boolean {
  return !UNSTORABLE.test(text);
}

/** Returns a text without the characters that the database cannot store. */
export function storableText(text: string): string {
  return text.replace(ALL_UNSTORABLE, "");
}
