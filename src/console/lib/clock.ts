/**
 * The time by the gateway's clock. A device whose own clock is wrong would otherwise show keys that are in force as
 * expired, and ask for the usage of other days.
 */

/** Answers say the time to the second, and take some themselves. */
const LEAST_MS = 2 * 60_000;

const listeners = new Set<() => void>();
let ahead = 0;

/** Unix milliseconds. */
export function now(): number {
  return Date.now() - ahead;
}

/** By how many milliseconds this device's clock is ahead of the gateway's; 0 where they agree within minutes. */
export function clockAhead(): number {
  return ahead;
}

/** Takes the time that an answer says. */
export function noteServerTime(date: string | null, receivedAt: number = Date.now()): void {
  const difference = receivedAt - Date.parse(date ?? "");
  if (Number.isNaN(difference)) return;
  const next = Math.abs(difference) < LEAST_MS ? 0 : difference;
  // Answers differ by their way here: only another clock is news.
  if (Math.abs(next - ahead) < LEAST_MS && (next === 0) === (ahead === 0)) return;
  ahead = next;
  for (const listener of listeners) listener();
}

/** Calls the listener when another time is known; returns the function that ends it. */
export function onClock(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
