/** Yields the items in their order, up to `size` at a time. */
export function* inGroups<Item>(
  items: readonly Item[],
  size: number,
): Generator<readonly Item[], void> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size);
}
