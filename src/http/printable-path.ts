const MAX_LENGTH = 128;
const CREDENTIAL = /\b(?:sk|bk|ses)[-_][A-Za-z0-9_-]{6,}/gi;
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
