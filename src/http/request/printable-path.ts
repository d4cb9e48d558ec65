const MAX_LENGTH = 128;
/** Letters, digits, `-` and `_`, which need no encoding, and the `%` of a double encoding. */
const NEEDLESSLY_ENCODED = /%(?:2[5d]|5f|3\d|[46][1-9a-f]|[57][0-9a])/gi;
const DEPTH_MAX = 3;
/**
 * A credential at the beginning of a word, which may follow an encoded character. Inside a word it is matched only when
 * it is as long as a key.
 */
const CREDENTIAL =
  /(?:(?<![A-Za-z0-9])|(?<=%[0-9a-f]{2}))(?:sk|bk|sv|ses|wh[uk])[-_][\w-]{6,}|(?:sk|bk|sv|ses|wh[uk])[-_][\w-]{17,}/gi;
const UNPRINTABLE = /[^\x21-\x7e]/g;

/**
 * Returns an unserved path in a form fit for the log: limited in length, in printable ASCII, without text that looks
 * like a credential.
 */
export function printablePath(path: string): string {
  return plain(path)
    .replace(CREDENTIAL, "[key]")
    .slice(0, MAX_LENGTH)
    .replace(UNPRINTABLE, percentEncoded);
}

function plain(path: string): string {
  let text = path;
  for (let depth = 0; depth < DEPTH_MAX && text.includes("%"); depth += 1) {
    text = text.replace(NEEDLESSLY_ENCODED, (encoded) =>
      String.fromCharCode(Number.parseInt(encoded.slice(1), 16)),
    );
  }
  return text;
}

function percentEncoded(character: string): string {
  return [...Buffer.from(character)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`)
    .join("");
}
