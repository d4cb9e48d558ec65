/** A calendar month, UTC; both in Unix milliseconds. The end is the next one's beginning. */
export interface UtcMonth {
  readonly beginsAt: number;
  readonly endsAt: number;
}

/** The month of a moment in Unix milliseconds. */
export function utcMonth(atMs: number): UtcMonth {
  const date = new Date(atMs);
  const year = date.getUTCFullYear();
  const month = date.getUTCMonth();
  return { beginsAt: Date.UTC(year, month, 1), endsAt: Date.UTC(year, month + 1, 1) };
}
