/** Escapes a text so that it matches only itself in SQL's LIKE. */
export function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}
