import type { Log } from "../lib/log.ts";
import type { Clock } from "../lib/time/clock.ts";
import { raiseSeenTime, type SeenTime } from "./seen-time.ts";
import type { SeenTimeStore } from "./seen-time-store.ts";

/**
 * The time by which licenses are judged: the system's clock, but never earlier than the known time, which is kept
 * across restarts.
 */
export interface EffectiveTime {
  /** Unix milliseconds. */
  readonly now: () => number;
  /** How far the system's clock is behind it, in milliseconds; 0 when it is not behind. */
  readonly behindMs: () => number;
  /** Unix milliseconds of the first start. */
  readonly installedAt: () => number;
  /** Reads the clocks and stores the known time. Never rejects. */
  readonly look: () => Promise<void>;
}

export interface EffectiveTimeOptions {
  readonly clock: Clock;
  /** Milliseconds of a monotonic clock. */
  readonly monotonic: () => number;
  readonly store: SeenTimeStore;
  /** From the database; Unix milliseconds. */
  readonly installedAt: number;
  readonly log: Pick<Log, "info">;
}

/** A clock that differs by more than this from its expected value was set. */
const STEP_MS = 300_000;
/**
 * At a first start, a clock outside these bounds is broken: without its battery it may show 1970 or 2099. Its time is
 * not stored, and the installation begins when the clock is corrected. Later starts need no such bounds.
 */
const BELIEVED_FROM = Date.UTC(2025, 0);
const BELIEVED_UNTIL = Date.UTC(2036, 0);

/** Reads the stored time; at the first start, begins to store it. */
export async function openEffectiveTime(options: EffectiveTimeOptions): Promise<EffectiveTime> {
  const { clock, monotonic, store, log } = options;
  const stored = await store.read();
  let seen: SeenTime | undefined = stored;
  let installedAt = earliestBelieved([options.installedAt, stored?.installedAt]);
  let lookedAt = monotonic();
  let systemAt = clock.now();
  let isFirst = true;

  const beginning = (systemNow: number): number => {
    if (isBelieved(systemNow)) installedAt ??= systemNow;
    return installedAt ?? options.installedAt;
  };
  const look = async (): Promise<void> => {
    const [systemNow, elapsedMs] = [clock.now(), monotonic() - lookedAt];
    const hasKeptPace = Math.abs(systemNow - systemAt - elapsedMs) <= STEP_MS;
    if (seen !== undefined) {
      seen = raiseSeenTime(seen, { elapsedMs, systemNow, hasKeptPace, isFirst });
    } else if (isBelieved(systemNow)) {
      seen = { provenAt: systemNow, latestAt: systemNow };
      log.info(
        { begins_at: new Date(systemNow).toISOString() },
        "the license clock starts at this time and never goes back. If the time is wrong, set the clock and start again " +
          "with an empty database and an empty DATA_DIR",
      );
    }
    isFirst = false;
    lookedAt += elapsedMs;
    systemAt = systemNow;
    if (seen === undefined) return;
    // Another replica may know a later time.
    seen = await store.keep({ ...seen, installedAt: beginning(systemNow) });
  };
  const nowGiven = (systemNow: number): number => {
    if (seen === undefined) return systemNow;
    const ran = Math.floor(seen.provenAt + monotonic() - lookedAt);
    return Math.max(systemNow, seen.latestAt, ran);
  };

  if (stored === undefined) await look();
  return {
    now: () => nowGiven(clock.now()),
    behindMs() {
      const systemNow = clock.now();
      return nowGiven(systemNow) - systemNow;
    },
    installedAt: () => beginning(clock.now()),
    look,
  };
}

/** Returns the earliest credible time. Undefined when no time is credible: the installation has then not begun yet. */
function earliestBelieved(times: readonly (number | undefined)[]): number | undefined {
  const believed = times.filter((time): time is number => time !== undefined && isBelieved(time));
  return believed.length === 0 ? undefined : Math.min(...believed);
}

function isBelieved(time: number): boolean {
  return time >= BELIEVED_FROM && time < BELIEVED_UNTIL;
}
