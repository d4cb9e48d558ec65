const MAX_LENGTH = 128;
const PREFIX = "(?:sk|bk|ses)(?:[-_]|%2d|%5f)";
const LETTER = "(?:[A-Za-z0-9_-]|%2d|%5f)";
/** At the beginning of a word, which may follow an encoded character; stuck to other letters only where it is as long as a key. */
const CREDENTIAL = new RegExp(
  `(?:(?<![A-Za-z0-9])|(?<=%[0-9a-f]{2}))${PREFIX}${LETTER}{6,}|${PREFIX}${LETTER}{17,}`,
  "gi",
);
const UNPRINTABLE = /[^\x21-\x7e]/g;

/** A path that nobody serves, fit for the log: bounded, in printable ASCII, without what looks like a credential. */
export function printablePath(path: string): string {
  return path
    .replace(CREDENTIAL, "[key]")
    .slice(0, MAX_LENGTH)
    .replace(UNPRINTABLE, percentEncoded);
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
