/** The text as a pattern of SQL's LIKE that stands for itself alone. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
