import { memo, useSyncExternalStore } from "react";
import { now, onClock } from "../../lib/clock.ts";
import { formatRelative, formatTime, formatUtc, type Zone } from "../../lib/time.ts";
import { usePreferences } from "../preferences.ts";

const TICK_MS = 10_000;

interface TimeProps {
  /** RFC 3339 or Unix milliseconds; null shows `instead`. */
  readonly value: string | number | null | undefined;
  /** "2 min ago" rather than the date; the whole time is in the title either way. */
  readonly isRelative?: boolean;
  readonly hasSeconds?: boolean;
  readonly instead?: string;
}

/** A time, in the zone that the person chose, with the UTC time in its title. */
export const Time = memo(function Time(props: TimeProps) {
  const { value, isRelative, hasSeconds = false, instead = "never" } = props;
  const { zone } = usePreferences();
  if (value === null || value === undefined) return <span className="text-muted">{instead}</span>;
  return (
    <time dateTime={new Date(value).toISOString()} title={formatUtc(value)}>
      {isRelative ? <Ago value={value} zone={zone} /> : formatTime(value, zone, hasSeconds)}
    </time>
  );
});

interface AgoProps {
  readonly value: string | number;
  readonly zone: Zone;
}

/** Only what grows older by itself is drawn every ten seconds: a long chat has a time at each message. */
function Ago({ value, zone }: AgoProps) {
  return formatRelative(value, useNow(), zone);
}

let shown = now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** Returns the time in Unix milliseconds, every ten seconds anew. One timer serves the page. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => shown);
}

onClock(tick);

function tick(): void {
  shown = now();
  for (const each of listeners) each();
}

function subscribe(listener: () => void): () => void {
  // Nobody kept the time while nothing showed one.
  if (listeners.size === 0) shown = now();
  listeners.add(listener);
  timer ??= setInterval(tick, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
