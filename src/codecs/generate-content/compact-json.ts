const STRING_OR_SPACE = /"[^"\\]*(?:\\.[^"\\]*)*"|\s+/g;

/** A JSON text without the spaces between its parts, else in the very characters it came in. */
export function compactJson(text: string): string {
  return text.replace(STRING_OR_SPACE, (found) => (found.startsWith('"') ? found : ""));
}
