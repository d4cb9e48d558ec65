/** A count for each name, all of them 0. Counting is `counts[name] += 1`: no look-up, no allocation. */
export function zeroCounts<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
