interface DayOfUse {
  /** `2026-11-24` */
  readonly date: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

/** As many as a report of a key covers, today included. */
const DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Returns the last 30 days of UTC. A report names those with calls alone, which may be weeks apart. */
export function fillDays(days: readonly DayOfUse[], now: number): readonly DayOfUse[] {
  const known = new Map(days.map((day) => [day.date, day]));
  return Array.from({ length: DAYS }, (_, at) => {
    const date = new Date(now - (DAYS - 1 - at) * DAY_MS).toISOString().slice(0, 10);
    return known.get(date) ?? { date, input_tokens: 0, output_tokens: 0 };
  });
}
