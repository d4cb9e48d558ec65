const BACKSLASH = 0x5c;

/** Returns the index just past the quote that closes the string opened at `start`; the text's length when none does. */
export function endOfString(text: string, start: number): number {
  let index = start;
  for (;;) {
    index = text.indexOf('"', index + 1);
    if (index < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(index - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return index + 1;
  }
}

/**
 * Rewrites what stands between the strings of a JSON text, and the strings where `ofString` is given. A string without an
 * end reaches to the end of the text. Each character is read once: a pattern for strings would begin anew at each quote of
 * such a string, which takes minutes for a megabyte.
 */
export function rewriteJson(
  text: string,
  between: (part: string) => string,
  ofString?: (token: string) => string,
): string {
  const parts: string[] = [];
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('"', at);
    if (open < 0) break;
    const end = endOfString(text, open);
    const token = text.slice(open, end);
    parts.push(between(text.slice(at, open)), ofString === undefined ? token : ofString(token));
    at = end;
  }
  parts.push(between(text.slice(at)));
  return parts.join("");
}
