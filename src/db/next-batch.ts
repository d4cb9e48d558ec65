/**
 * Returns how many rows the next batch should have for as many bytes as are given, by the rows of the batch before: a row may
 * have some bytes or a megabyte, and nobody knows before it is read.
 *
 * @param found is not empty. A text counts by its characters, any other value as 8 bytes.
 */
export function nextBatch(
  found: readonly Readonly<Record<string, unknown>>[],
  { bytes, most }: { readonly bytes: number; readonly most: number },
): number {
  let size = 1;
  for (const row of found) {
    for (const value of Object.values(row)) size += typeof value === "string" ? value.length : 8;
  }
  return Math.max(1, Math.min(most, Math.floor((bytes * found.length) / size)));
}
