/** The value that this share of the values does not exceed; NaN without any. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.ceil((sorted.length - 1) * share)] ?? Number.NaN;
}
