import { randomBase62 } from "../../lib/id.ts";

const DAY_MS = 86_400_000;
const PREFIX = "run_";
/** Days since 1970 in base 36: four digits reach to the year 6568. */
const DAY_DIGITS = 4;
const RANDOM_DIGITS = 20;
const RUN_ID = /^run_([0-9a-z]{4})[0-9A-Za-z]{20}$/;

/** A run's id has its UTC day in it, so that it is found in one partition. @param now Unix milliseconds. */
export function newRunId(now: number): string {
  const day = Math.floor(now / DAY_MS)
    .toString(36)
    .padStart(DAY_DIGITS, "0");
  return `${PREFIX}${day}${randomBase62(RANDOM_DIGITS)}`;
}

/** Returns the UTC day of a run, `2026-11-23`; undefined for what is no run's id. */
export function dayOfRun(runId: string): string | undefined {
  const digits = RUN_ID.exec(runId)?.[1];
  return digits === undefined ? undefined : utcDay(Number.parseInt(digits, 36) * DAY_MS);
}

/** @param at Unix milliseconds. */
export function utcDay(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
