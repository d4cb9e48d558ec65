/** Returns at most this many UTF-16 units of the beginning of a text, and no half of a surrogate pair at their end. */
export function cutText(text: string, maxLength: number): string {
  return text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "");
}
