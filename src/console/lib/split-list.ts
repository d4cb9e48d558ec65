/** Returns the words of a text that lists one a line, or separated by commas or spaces. */
export function splitList(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== "");
}
