const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Returns true when the JSON text nests deeper than `limit`. It scans bytes and stops at the first excess level, so
 * that a hostile body costs nothing before it is parsed.
 */
export function isDeeperThan(limit: number, bytes: Uint8Array): boolean {
  let depth = 0;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) index = endOfString(bytes, index);
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
      if (depth > limit) return true;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return false;
}

/** Returns the index of the quote that closes the string opened at `start`, or the end of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  let index = start;
  for (;;) {
    index = bytes.indexOf(QUOTE, index + 1);
    if (index < 0) return bytes.length;
    let backslashes = 0;
    while (bytes[index - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return index;
  }
}
