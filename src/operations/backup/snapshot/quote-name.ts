/** A name as a part of a statement. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
