/** Returns a count of 0 for each name. Counting is `counts[name] += 1`, without a lookup or an allocation. */
export function zeroCounts<Name extends string>(names: readonly Name[]): Record<Name, number> {
  return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
}
