import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../access/secret.ts";

/** The known time. Unix milliseconds. */
export interface SeenTime {
  /** A lower bound of the present time: a beginning, plus all the time that the program has run since. */
  readonly provenAt: number;
  /** The latest time that a credible clock has shown; never before the proven one. */
  readonly latestAt: number;
}

/** One reading of the clocks. Milliseconds. */
export interface Sighting {
  /** How long the program has run since the last reading, by a monotonic clock. */
  readonly elapsedMs: number;
  /** The time of the system's clock. */
  readonly systemNow: number;
  /** The system's clock advanced as much as the monotonic one since the last reading. */
  readonly hasKeptPace: boolean;
  /** The first reading of a run: it is unknown how long the machine was off. */
  readonly isFirst: boolean;
}

const DAY_MS = 86_400_000;
const SLACK_MAX_MS = 300_000;
/** Five minutes an hour, however often the clocks are read. */
const SLACK_SHARE = 1 / 12;
/** A machine that was off for longer is rarer than a clock that is wrong. */
const OFF_MAX_MS = 90 * DAY_MS;

/**
 * Returns the known time after another reading.
 *
 * The proven time advances while the program runs, whatever the system's clock does: setting that back stops nothing.
 * It follows a clock that is ahead by at most five minutes an hour, so one that is years ahead for a day adds two
 * hours. It trusts the previous run's time once this run starts later than that, because two starts then agree.
 *
 * The latest time follows the system's clock as long as that advanced evenly since the last reading, and across a start
 * by up to 90 days. It only waits for the time to catch up, so a clock that was wrong by fewer days locks users out for
 * at most these days.
 */
export function raiseSeenTime({ provenAt, latestAt }: SeenTime, sighting: Sighting): SeenTime {
  const { elapsedMs, systemNow, hasKeptPace, isFirst } = sighting;
  const slackMs = Math.min(SLACK_MAX_MS, elapsedMs * SLACK_SHARE);
  const isConfirmed = isFirst && hasKeptPace && systemNow >= latestAt + elapsedMs;
  const ran = (isConfirmed ? latestAt : provenAt) + elapsedMs;
  const proven = Math.floor(ran + Math.min(Math.max(0, systemNow - ran), slackMs));
  const leapMs = systemNow - latestAt - elapsedMs;
  const isBelieved = hasKeptPace && leapMs <= (isFirst ? OFF_MAX_MS : SLACK_MAX_MS);
  return {
    provenAt: proven,
    latestAt: Math.max(latestAt, proven, isBelieved ? systemNow : 0),
  };
}

/** The stored time. Unix milliseconds. */
export interface StoredTime extends SeenTime {
  /** The first start. */
  readonly installedAt: number;
}

/** Writes and reads times as text that requires the installation's secret to write. */
export interface SeenTimeSeal {
  readonly close: (time: StoredTime) => string;
  /** Undefined when the text was not made by `close`. */
  readonly open: (text: string) => StoredTime | undefined;
}

const SEALED = /^(\d{1,15}) (\d{1,15}) (\d{1,15}) ([\w-]{43})$/;

export function createSeenTimeSeal(secret: Secret): SeenTimeSeal {
  const key = secret.derive("seen-time");
  const write = ({ installedAt, provenAt, latestAt }: StoredTime): string => {
    const times = `${installedAt} ${provenAt} ${latestAt}`;
    return `${times} ${createHmac("sha256", key).update(times).digest("base64url")}`;
  };
  return {
    close: write,
    open(text) {
      const [, installedAt, provenAt, latestAt] = SEALED.exec(text) ?? [];
      const time = {
        installedAt: Number(installedAt),
        provenAt: Number(provenAt),
        latestAt: Number(latestAt),
      };
      const [given, right] = [Buffer.from(text), Buffer.from(write(time))];
      return given.length === right.length && timingSafeEqual(given, right) ? time : undefined;
    },
  };
}
