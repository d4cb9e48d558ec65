import {
  LEAST_INTERVAL_MS,
  type NextTick,
  readTicks,
  ScheduleFault,
  type ScheduleTimes,
  tooClose,
} from "./next-tick.ts";

/** Times that are shown. */
const SHOWN = 5;
/** Enough that each second of a schedule is followed by each other one. */
const COMPARED = 200;
/** Of these times, and of one that is rarer those that follow its first one without a longer pause than a minute. */
const COMPARED_WITHIN_MS = 400 * 86_400_000;
const MINUTE_MS = 60_000;

export type ScheduleCheck =
  | { readonly next: readonly Date[] }
  | { readonly field: ScheduleFault["field"]; readonly message: string };

/**
 * Returns the next five times of a schedule that is saved now; or what is wrong with it: not readable, an unknown time
 * zone, times closer than 10 s, no time at all.
 *
 * @param now Unix milliseconds.
 */
export function checkSchedule(trigger: ScheduleTimes, now: number): ScheduleCheck {
  try {
    const next = readTicks(trigger, now);
    if (hasSeconds(trigger.cron)) refuseCloseTicks(next, now);
    const shown = ticksAfter(next, now, SHOWN);
    if (shown.length === 0) {
      throw new ScheduleFault("There is no such time: no day of any month matches.", {
        field: "cron",
      });
    }
    return { next: shown.map((tick) => new Date(tick)) };
  } catch (thrown) {
    if (!(thrown instanceof ScheduleFault)) throw thrown;
    return { field: thrown.field, message: thrown.message };
  }
}

/**
 * Returns the next five times of a schedule that was saved earlier; none when it cannot be read, as one whose time zone a
 * newer release of the runtime knew.
 *
 * @param savedAt @param now Unix milliseconds.
 */
export function nextTimes(trigger: ScheduleTimes, savedAt: number, now: number): readonly Date[] {
  try {
    return ticksAfter(readTicks(trigger, savedAt), now, SHOWN).map((tick) => new Date(tick));
  } catch (thrown) {
    if (thrown instanceof ScheduleFault) return [];
    throw thrown;
  }
}

/** True for six fields whose first one may name several seconds: no other schedule has two times in a minute. */
function hasSeconds(cron = ""): boolean {
  const fields = cron.trim().split(/\s+/);
  return fields.length === 6 && !/^\d+$/.test(fields[0] ?? "");
}

function refuseCloseTicks(next: NextTick, now: number): void {
  let last = Number.NEGATIVE_INFINITY;
  for (let compared = 0; compared < COMPARED; compared += 1) {
    const tick = next(Math.max(last, now));
    if (tick === undefined) return;
    if (tick - last < LEAST_INTERVAL_MS) throw tooClose("cron");
    const isFar = tick > now + COMPARED_WITHIN_MS && tick - last > MINUTE_MS;
    if (isFar && compared > 0) return;
    last = tick;
  }
}

function ticksAfter(next: NextTick, after: number, count: number): readonly number[] {
  const ticks: number[] = [];
  for (let tick = next(after); tick !== undefined; tick = next(tick)) {
    ticks.push(tick);
    if (ticks.length === count) break;
  }
  return ticks;
}
