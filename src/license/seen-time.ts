import { createHmac, timingSafeEqual } from "node:crypto";
import type { Secret } from "../access/secret.ts";

/** What is known of the time. Unix milliseconds. */
export interface SeenTime {
  /** What the time must be at least: a beginning, and all the time that the program has run since. */
  readonly provenAt: number;
  /** The latest time that a clock worth believing has shown; never before the proven one. */
  readonly latestAt: number;
}

/** One look at the clocks. Milliseconds. */
export interface Sighting {
  /** How long the program has run since the last look, by a clock that nobody can set. */
  readonly elapsedMs: number;
  /** What the system's clock says. */
  readonly systemNow: number;
  /** The system's clock went by as much as the other since the last look. */
  readonly hasKeptPace: boolean;
  /** The first look of a run: nobody knows how long the machine was off. */
  readonly isFirst: boolean;
}

const DAY_MS = 86_400_000;
const SLACK_MAX_MS = 300_000;
/** Five minutes an hour, however often one looks. */
const SLACK_SHARE = 1 / 12;
/** A machine that was off for longer is rarer than a clock that is wrong. */
const OFF_MAX_MS = 90 * DAY_MS;

/**
 * What is known after another look.
 *
 * The proven time goes on while the program runs, whatever the system's clock does: to set that back stops nothing. It
 * follows a clock that is ahead by five minutes an hour at most, so that one that is years ahead for a day leaves two
 * hours behind; and it takes over what an earlier run has seen when this one begins later than that, for then two starts
 * agree.
 *
 * The latest time follows the system's clock as far as that went on evenly since the last look, and over a start by up
 * to 90 days. It only waits for the time to catch up, so that a clock that was wrong by less locks nobody out for longer.
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

/** What is kept of the time. Unix milliseconds. */
export interface StoredTime extends SeenTime {
  /** The first start. */
  readonly installedAt: number;
}

/** Times as text that only who holds the installation's secret can write. */
export interface SeenTimeSeal {
  readonly close: (time: StoredTime) => string;
  /** Undefined when the text is anything else than `close` has made. */
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
