/**
 * True when the items are what the pattern says, where some parts of it stand for any number of items. On a mismatch
 * only the last such part takes one item more: that is enough, and keeps the steps below both lengths multiplied.
 */
export function matchesSequence<Part, Item>(
  pattern: readonly Part[],
  items: readonly Item[],
  isMany: (part: Part) => boolean,
  matches: (part: Part, item: Item) => boolean,
): boolean {
  let part = 0;
  let item = 0;
  let lastMany = -1;
  let takenUpTo = 0;
  while (item < items.length) {
    if (part < pattern.length && isMany(pattern[part] as Part)) {
      lastMany = part;
      takenUpTo = item;
      part += 1;
    } else if (part < pattern.length && matches(pattern[part] as Part, items[item] as Item)) {
      part += 1;
      item += 1;
    } else if (lastMany >= 0) {
      takenUpTo += 1;
      item = takenUpTo;
      part = lastMany + 1;
    } else return false;
  }
  while (part < pattern.length && isMany(pattern[part] as Part)) part += 1;
  return part === pattern.length;
}
