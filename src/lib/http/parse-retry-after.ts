/** Nobody means longer: a client library that sleeps as long as it is told would not come back. */
const LONGEST_SECONDS = 86_400;

/**
 * The whole seconds of a `Retry-After` header, which gives seconds or a date, a day at most; undefined when it makes no
 * sense.
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
