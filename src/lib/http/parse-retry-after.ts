/** Longer values are assumed to be wrong: a client library that obeyed one would not return. */
const LONGEST_SECONDS = 86_400;

/**
 * Parses a `Retry-After` header, which contains seconds or a date. Returns whole seconds, at most a day; undefined for
 * an invalid value.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined || header.trim() === "") return undefined;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header)
    ? Number(header)
    : (Date.parse(header) - nowMs) / 1000;
  return Number.isFinite(seconds)
    ? Math.min(LONGEST_SECONDS, Math.max(1, Math.ceil(seconds)))
    : undefined;
}
